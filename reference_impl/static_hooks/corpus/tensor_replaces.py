"""A tensor that the hook returns replaces the gradient."""

import paddle

from . import Case


def by_a_constant(x):
    """The new gradient need not depend on the old one."""
    y = 2 * x
    y.register_hook(lambda g: paddle.full_like(g, 7.0))
    return y * y


def by_zero(x):
    """Zeros stop the gradient on this path, and only there."""
    y = 2 * x
    y.register_hook(paddle.zeros_like)
    return y * y + 3 * x


def by_a_forward_value(x):
    """The new gradient is a tensor of the forward pass."""
    y = 2 * x
    y.register_hook(lambda g: y)
    return 10 * y


def by_itself(x):
    """Returning the gradient as it came changes nothing."""
    y = 2 * x
    y.register_hook(lambda g: g)
    return y * y


def clipped(x):
    """The usual reason to replace a gradient."""
    y = 2 * x
    y.register_hook(lambda g: paddle.clip(g, -1.0, 1.0))
    return y * paddle.to_tensor([3.0, -5.0, 0.5])


ENTRIES = [
    Case(by_a_constant, ([1.0],), {"x0": [14.0]}),
    Case(by_zero, ([1.0],), {"x0": [3.0]}),
    Case(by_a_forward_value, ([3.0],), {"x0": [12.0]}, calls=[("<lambda>", [10.0])]),
    Case(by_itself, ([3.0],), {"x0": [24.0]}, calls=[("<lambda>", [12.0])]),
    Case(clipped, ([1.0, 1.0, 1.0],), {"x0": [2.0, -2.0, 1.0]}),
]
