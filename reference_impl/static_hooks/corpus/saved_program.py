"""`jit.save` of a hooked model is, operation for operation, the unhooked program.

It loads and runs in a process that does not have this package.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import paddle
from paddle import nn
from paddle.static import InputSpec

import static_hooks

from . import Scenario, converted

WITH_A_PROGRAM = {
    "eager": "eager mode has no program to save",
    "program": "`jit.save` saves `to_static` programs",
}

LOADED = """
import sys
import paddle
layer = paddle.jit.load(sys.argv[1])
print(layer(paddle.ones([1, 2])).sum().item(), "static_hooks" in sys.modules)
"""


class Net(nn.Layer):
    """A linear layer with or without hooks on its input, its output and its weight."""

    def __init__(self, hooked):
        super().__init__()
        constant = nn.initializer.Constant(0.5)
        self.fc = nn.Linear(2, 2, weight_attr=constant, bias_attr=constant)
        self.hooked = hooked
        self.seen = []

    def keep(self, gradient):
        """Keep the gradient."""
        self.seen.append(gradient)

    def forward(self, x):
        """Hook, then apply."""
        h = self.fc(2 * x)
        if self.hooked and not h.stop_gradient:
            h.register_hook(lambda g: g * g)
            h.register_hook(self.keep)
            self.fc.weight.register_hook(self.keep)
        return h * h


def _saved(mode, hooked, folder, step=False):
    spec = [InputSpec([None, 2], "float32")]
    net = Net(hooked)
    if mode == "ast":
        net = converted(net, mode, input_spec=spec)
        if step:
            net(paddle.ones([1, 2])).sum().backward()
    path = str(Path(folder) / f"{'hooked' if hooked else 'plain'}")
    paddle.jit.save(net, path, input_spec=spec)
    return path


def _operations(path):
    program = paddle.jit.load(path).program()
    return [op.name() for op in program.global_block().ops]


def the_same_operations(mode):
    """The saved programs with and without hooks, before and after a training step."""
    with tempfile.TemporaryDirectory() as folder:
        hooked = _operations(_saved(mode, True, folder))
        trained = _operations(_saved(mode, True, folder, step=True))
        plain = _operations(_saved(mode, False, folder))
    return [hooked == plain, trained == plain]


def in_a_process_without_this_package(mode):
    """Loaded by a program that never imports it."""
    with tempfile.TemporaryDirectory() as folder:
        path = _saved(mode, True, folder)
        command = [sys.executable, "-c", LOADED, path]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return done.stdout.split()


def while_disabled(mode):
    """Loaded in this process when hooks are disabled again."""
    with tempfile.TemporaryDirectory() as folder:
        path = _saved(mode, True, folder)
        static_hooks.disable()
        return paddle.jit.load(path)(paddle.ones([1, 2])).sum().item()


ENTRIES = [
    Scenario(the_same_operations, [True, True], not_applicable=WITH_A_PROGRAM),
    Scenario(in_a_process_without_this_package, ["12.5", "False"], not_applicable=WITH_A_PROGRAM),
    Scenario(while_disabled, 12.5, not_applicable=WITH_A_PROGRAM),
]
