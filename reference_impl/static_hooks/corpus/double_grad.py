"""A hook's body is differentiated when a gradient of the gradient is asked for."""

import paddle

from . import Scenario, converted


def _second_order(mode, hook):
    def function(x):
        y = x * x
        if hook is not None:
            y.register_hook(hook)
        return y * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    out = converted(function, mode)(x)
    (first,) = paddle.grad(out, x, create_graph=True)
    (second,) = paddle.grad(first, x)
    return [first.tolist(), second.tolist()]


def a_linear_body(mode):
    """Tripling the gradient triples both orders, each time that it fires."""
    return _second_order(mode, lambda g: 3 * g)


def a_nonlinear_body(mode):
    """Squaring: the second order differentiates the square."""
    return _second_order(mode, lambda g: g * g)


def unhooked(mode):
    """The same without a hook."""
    return _second_order(mode, None)


ENTRIES = [
    Scenario(a_linear_body, [[12.0], [84.0]], control=unhooked),
    Scenario(a_nonlinear_body, [[8.0], [520.0]], control=unhooked),
]
