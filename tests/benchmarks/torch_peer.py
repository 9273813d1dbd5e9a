"""The same net in PyTorch, eager and compiled: run by a Python that has PyTorch alone.

It prints one row a line, as `rows` does.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent))
from timing import ratio

LAYERS, WIDTH, BATCH = 12, 64, 8


class Net(torch.nn.Module):
    """Linear layers with tanh between them; `hook` is registered on the output of each."""

    def __init__(self, hook: Any = None) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        self.hook = hook

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the loss of a batch [n, width], of shape []."""
        for layer in self.layers:
            x = torch.tanh(layer(x))
            if self.hook is not None:
                x.register_hook(self.hook)
        return (x * x).mean()


def halve(gradient: torch.Tensor) -> torch.Tensor:
    """Halve a gradient."""
    return gradient * 0.5


def step(hook: Any, compiled: bool) -> Any:
    """Return one training step."""
    net = Net(hook)
    run = torch.compile(net, fullgraph=True) if compiled else net
    x = torch.randn(BATCH, WIDTH)

    def once() -> None:
        run(x).backward()
        net.zero_grad(set_to_none=True)

    return once


def main() -> None:
    """Measure both modes."""
    torch.manual_seed(0)
    for name, compiled in (("step-torch-compile", True), ("step-torch-eager", False)):
        found = ratio(step(halve, compiled), step(None, compiled))
        detail = {"seconds": found.seconds, "pairs": found.pairs, "torch": torch.__version__}
        row = {"name": name, "value": found.median, "low": found.low, "high": found.high}
        sys.stdout.write(json.dumps({**row, "budget": None, "detail": detail}) + "\n")


if __name__ == "__main__":
    main()
