"""Registering after some or all uses is the same as before them."""

import paddle

from . import Case


def square(gradient):
    """Answer differently for a sum than for the sum of the answers."""
    return gradient * gradient


def after_the_only_use(x):
    """The only use is already traced."""
    y = 2 * x
    t = y * y
    y.register_hook(square)
    return t


def between_two_uses(x):
    """One use before the registration, one after it."""
    y = 2 * x
    a = y * y
    y.register_hook(square)
    return a + 5 * y


def after_a_reduction(x):
    """The loss itself is traced before the registration."""
    y = 2 * x
    loss = (y * y).sum()
    y.register_hook(square)
    return loss


def before_and_after(x):
    """Two hooks around a use see the same gradient, one after the other."""
    y = 2 * x
    y.register_hook(square)
    t = 3 * y
    y.register_hook(lambda g: g + 1)
    return t


def residual_block(x):
    """A residual block hooked at its end: the skip connection and the branch both count."""
    h = 2 * x
    branch = h * h
    out = h + branch
    h.register_hook(square)
    return out


def through_an_activation(x):
    """The hooked tensor was consumed by an activation that keeps its own input."""
    y = 3 * x
    out = paddle.nn.functional.relu(y) * paddle.to_tensor([2.0, 5.0])
    y.register_hook(square)
    return out


ENTRIES = [
    Case(after_the_only_use, ([1.0],), {"x0": [32.0]}, calls=[("square", [4.0])]),
    Case(between_two_uses, ([1.0],), {"x0": [162.0]}, calls=[("square", [9.0])]),
    Case(after_a_reduction, ([1.0, 2.0],), {"x0": [32.0, 128.0]}, calls=[("square", [4.0, 8.0])]),
    Case(
        before_and_after,
        ([1.0],),
        {"x0": [20.0]},
        calls=[("square", [3.0]), ("<lambda>", [9.0])],
    ),
    Case(residual_block, ([1.0, 2.0],), {"x0": [50.0, 162.0]}, calls=[("square", [5.0, 9.0])]),
    Case(
        through_an_activation, ([1.0, -1.0],), {"x0": [12.0, 0.0]}, calls=[("square", [2.0, 0.0])]
    ),
]
