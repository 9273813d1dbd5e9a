"""`retain_grads()` keeps the gradient of a tensor that has hooks."""

import paddle

from . import Scenario, converted


def _retained(mode, hooked, first):
    def function(x):
        y = 2 * x
        if hooked:
            y.register_hook(lambda g: g * g)
        return y, y * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    run = converted(function, mode)
    y, z = run(x)
    y.retain_grads()
    (3 * y + z).sum().backward()
    return [y.grad.tolist(), x.grad.tolist()]


def on_a_returned_tensor(mode):
    """The gradient after the hook, of inner and outer uses."""
    return _retained(mode, hooked=True, first=False)


def on_a_returned_tensor_unhooked(mode):
    """The same without a hook."""
    return _retained(mode, hooked=False, first=False)


def on_an_input(mode):
    """An intermediate of the caller's, hooked inside."""

    def function(h):
        h.register_hook(lambda g: g * g)
        return 3 * h

    x = paddle.to_tensor([1.0], stop_gradient=False)
    h = 2 * x
    h.retain_grads()
    converted(function, mode)(h).sum().backward()
    return [h.grad.tolist(), x.grad.tolist()]


ENTRIES = [
    Scenario(on_a_returned_tensor, [[49.0], [98.0]], control=on_a_returned_tensor_unhooked),
    Scenario(on_an_input),
]
