"""`DataParallel` in two real processes: hooks see each process's own gradient, and training agrees.

Run as a module, this file is what each of the processes does.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import paddle
from paddle import nn

import static_hooks

from . import Scenario, converted

PROCESSES = 2


class Net(nn.Layer):
    """One weight, hooked from outside, and one hooked activation."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(1, 1, weight_attr=nn.initializer.Constant(2.0), bias_attr=False)
        self.seen = []

    def see(self, gradient):
        """Keep the gradient of the activation."""
        self.seen.append(gradient.item())

    def forward(self, x):
        """Apply, hook, triple."""
        h = self.fc(x)
        h.register_hook(self.see)
        h.register_hook(lambda g: g * g)
        return 3 * h


def work(mode: str, folder: str) -> None:
    """Train for two steps on this process's share and write down what happened."""
    if mode != "eager":
        static_hooks.enable()
    paddle.distributed.init_parallel_env()
    rank = paddle.distributed.get_rank()
    net = Net()
    parallel = paddle.DataParallel(converted(net, mode))
    optimizer = paddle.optimizer.SGD(0.01, parameters=net.parameters())
    weights = []
    for _ in range(2):
        parallel(paddle.to_tensor([[float(rank + 1)]])).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
        weights.append(round(net.fc.weight.item(), 4))
    Path(folder, f"{rank}.json").write_text(json.dumps([weights, net.seen]))


def two_processes(mode):
    """Each process has its own share; after two steps their weights agree."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "paddle.distributed.launch", "--backend", "gloo"]
        command += ["--nproc_per_node", str(PROCESSES), "--log_dir", f"{folder}/log"]
        # Paddle's launcher starts a script by its path.
        script = Path(folder, "work.py")
        script.write_text(
            "import sys\n"
            "from static_hooks.corpus.data_parallel import work\n"
            "work(sys.argv[1], sys.argv[2])\n"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(
            [*command, str(script), mode, folder],
            capture_output=True,
            text=True,
            timeout=240,
            env=environment,
        )
        files = [Path(folder, f"{rank}.json") for rank in range(PROCESSES)]
        if not all(file.exists() for file in files):
            raise RuntimeError(f"data-parallel: the processes failed: {done.stdout[-2000:]}")
        return [json.loads(file.read_text()) for file in files]


EACH = [1.865, 1.73]
ENTRIES = [
    Scenario(two_processes, [[EACH, [3.0, 3.0]], [EACH, [3.0, 3.0]]]),
]
