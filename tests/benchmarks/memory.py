"""Peak memory of training, with and without hooks, each in a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys

import paddle
import static_hooks

from .nets import Net, batch, halve, training_step

_WIDTH, _BATCH, _STEPS = 256, 8192, 3  # some 600 MiB of activations and gradients


def peaks(runs: int) -> tuple[list[int], list[int]]:
    """Return the peaks in KiB of some runs with hooks and some without, in turns."""
    pairs = [(_child("hooked"), _child("unhooked")) for _ in range(runs)]
    hooked, unhooked = zip(*pairs, strict=True)
    return list(hooked), list(unhooked)


def _child(what: str) -> int:
    command = [sys.executable, "-m", __name__, what]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return int(printed.splitlines()[-1])


def _train(what: str) -> None:
    with static_hooks.enabled():
        net = Net(halve if what == "hooked" else None, width=_WIDTH)
        step = training_step(paddle.jit.to_static(net, full_graph=True), batch(_BATCH, _WIDTH))
        for _ in range(_STEPS):
            step()


if __name__ == "__main__":
    _train(sys.argv[1])
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}\n")
