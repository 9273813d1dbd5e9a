"""Recomputing activations keeps the hooks of the recomputed part."""

import paddle
from paddle import nn
from paddle.distributed.fleet.utils import recompute

from . import Safer, Scenario, converted


class Block(nn.Layer):
    """A block that may be recomputed, with a hook inside and a hook on its result."""

    def __init__(self, inside, outside):
        super().__init__()
        constant = nn.initializer.Constant(0.5)
        self.fc = nn.Linear(2, 2, weight_attr=constant, bias_attr=constant)
        self.inside, self.outside = inside, outside

    def block(self, x):
        """Register on an intermediate, where gradients are on."""
        h = self.fc(x)
        if self.inside and not h.stop_gradient:
            h.register_hook(lambda g: g * g)
        return h * h

    def forward(self, x):
        """Recompute the block."""
        out = recompute(self.block, x)
        if self.outside:
            out.register_hook(lambda g: g * g + 1)
        return out * 3


def _trained(mode, inside, outside):
    layer = Block(inside, outside)
    run = converted(layer, mode)
    x = paddle.to_tensor([[1.0, 2.0]], stop_gradient=False)
    run(x).sum().backward()
    return [x.grad.tolist(), layer.fc.weight.grad.tolist()]


def hook_inside(mode):
    """On an intermediate of the recomputed block."""
    return _trained(mode, True, False)


def hook_on_the_result(mode):
    """On the tensor that the recomputed block returns."""
    return _trained(mode, False, True)


def unhooked(mode):
    """The same without hooks."""
    return _trained(mode, False, False)


ENTRIES = [
    Scenario(hook_inside, [[[144.0, 144.0]], [[144.0, 144.0], [288.0, 288.0]]], control=unhooked),
    Scenario(
        hook_on_the_result,
        [[[12.0, 12.0]], [[12.0, 12.0], [24.0, 24.0]]],
        control=unhooked,
        safer=Safer(
            "recomputing is a PyLayer, and eager mode drops what a hook on its output returns",
            result=[[[40.0, 40.0]], [[40.0, 40.0], [80.0, 80.0]]],
            modes=("ast",),  # SOT leaves a PyLayer to eager mode
        ),
    ),
]
