"""A hook removed between two steps runs in the first and not in the second."""

import paddle
from paddle import nn

from . import Scenario, converted


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


class Hooked(nn.Layer):
    """Registers on its weight when it is made and keeps the handle."""

    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([1], default_initializer=nn.initializer.Constant(2.0))
        self.handle = self.weight.register_hook(square)

    def forward(self, x):
        """Use the weight."""
        return self.weight * x


def of_a_parameter(mode):
    """Removed from a parameter after the first step."""
    layer = Hooked()
    run = converted(layer, mode)
    found = []
    for step in range(2):
        layer.clear_gradients()
        run(paddle.to_tensor([3.0])).sum().backward()
        found.append(layer.weight.grad.item())
        if step == 0:
            layer.handle.remove()
    return found


class HooksWhileAsked(nn.Layer):
    """Registers in forward as long as an argument says so."""

    def forward(self, x, hooked):
        """Hook an intermediate on demand."""
        y = 2 * x
        if hooked:
            y.register_hook(square)
        return 3 * y


def switched_off_by_an_argument(mode):
    """No longer registered from the second step on."""
    run = converted(HooksWhileAsked(), mode)
    found = []
    for hooked in (True, False, True):
        x = paddle.to_tensor([1.0], stop_gradient=False)
        run(x, hooked).sum().backward()
        found.append(x.grad.item())
    return found


def after_its_backward(mode):
    """A handle of a step that is over: the next forward registers anew, so nothing changes."""
    handles = []

    def function(x):
        y = 2 * x
        handles.append(y.register_hook(square))
        return 3 * y

    run = converted(function, mode)
    found = []
    for _ in range(3):
        x = paddle.to_tensor([1.0], stop_gradient=False)
        run(x).sum().backward()
        found.append(x.grad.item())
        handles[-1].remove()
    return found


def left_on_an_input(mode):
    """A hook on the caller's tensor stays when later calls do not register: one, one, then two."""

    def function(x, hooked):
        if hooked:
            x.register_hook(square)
        return 3 * x

    run = converted(function, mode)
    x = paddle.to_tensor([1.0], stop_gradient=False)
    found = []
    for hooked in (True, False, True):
        x.clear_gradient()
        run(x, hooked).sum().backward()
        found.append(x.grad.item())
    return found


ENTRIES = [
    Scenario(of_a_parameter, [9.0, 3.0]),
    Scenario(switched_off_by_an_argument, [18.0, 6.0, 18.0]),
    Scenario(after_its_backward, [18.0, 18.0, 18.0]),
    Scenario(left_on_an_input, [9.0, 9.0, 81.0]),
]
