"""The net of the benchmarks: 12 layers of 64, batch 8, a hook on the output of each layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle

LAYERS, WIDTH, BATCH = 12, 64, 8
Hook = Callable[[Any], Any]


class Net(paddle.nn.Layer):
    """Linear layers with tanh between them.

    Args:
        hook: registered on the output of each layer; none is registered if it is None.
        layers: how many layers.
        width: of each layer.
    """

    def __init__(self, hook: Hook | None = None, layers: int = LAYERS, width: int = WIDTH) -> None:
        super().__init__()
        self.layers = paddle.nn.LayerList(paddle.nn.Linear(width, width) for _ in range(layers))
        self.hook = hook

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Return the loss of a batch [n, width], of shape []."""
        for layer in self.layers:
            x = paddle.tanh(layer(x))
            if self.hook is not None:
                x.register_hook(self.hook)
        return (x * x).mean()


class Unhooked(Net):
    """The same net without a word of hooks.

    Paddle as it is remembers by code what it could not compile: a net that shares its code with a
    hooked one would run eagerly too.
    """

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Return the loss of a batch [n, width], of shape []."""
        for layer in self.layers:
            x = paddle.tanh(layer(x))
        return (x * x).mean()


def halve(gradient: Any) -> Any:
    """Halve a gradient: the body of the traced hooks."""
    return gradient * 0.5


def nothing(gradient: Any) -> None:
    """Look at a gradient and do nothing: the body whose call is timed."""


def batch(size: int = BATCH, width: int = WIDTH) -> paddle.Tensor:
    """Make a batch [size, width] of float32."""
    paddle.seed(0)
    return paddle.randn([size, width])


def training_step(net: Any, x: paddle.Tensor) -> Callable[[], None]:
    """Return one step: forward, backward, gradients cleared."""

    def step() -> None:
        net(x).backward()
        net.clear_gradients()

    return step
