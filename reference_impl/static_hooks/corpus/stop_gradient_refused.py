"""Registering on a tensor that stops gradients is a RuntimeError, with eager mode's text."""

import paddle

from . import Case

REFUSED = "RuntimeError: Cannot register hook on a tensor that stop gradient."


def on_a_constant(x):
    """A tensor made from numbers."""
    c = paddle.ones([1])
    c.register_hook(lambda g: g * g)
    return x * c


def on_a_detached_tensor(x):
    """A tensor cut off from its input."""
    y = x.detach()
    y.register_hook(lambda g: g * g)
    return x * y


def under_no_grad(x):
    """A tensor made while gradients are off."""
    with paddle.no_grad():
        y = 2 * x
    y.register_hook(lambda g: g * g)
    return x * y


def guarded(x):
    """Asking for `stop_gradient` first is how user code avoids the error."""
    c = paddle.ones([1])
    y = 3 * x
    if not c.stop_gradient:
        c.register_hook(lambda g: g * g)
    if not y.stop_gradient:
        y.register_hook(lambda g: g * g)
    return y * y * c


ENTRIES = [
    Case(on_a_constant, ([1.0],), error=REFUSED),
    Case(on_a_detached_tensor, ([1.0],), error=REFUSED),
    Case(under_no_grad, ([1.0],), error=REFUSED),
    Case(guarded, ([1.0],), {"x0": [108.0]}, calls=[("<lambda>", [6.0])]),
]
