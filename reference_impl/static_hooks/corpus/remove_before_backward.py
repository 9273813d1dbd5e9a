"""A handle kept from forward removes the hook before backward."""

import paddle
from paddle import nn

from . import Scenario, converted


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def _stepped(run, x, before_backward):
    x.clear_gradient()
    loss = run(x).sum()
    before_backward()
    loss.backward()
    return x.grad.item()


def kept_in_a_list(mode):
    """Removed after forward; the next forward registers anew."""
    handles = []

    def function(x):
        y = 2 * x
        handles.append(y.register_hook(square))
        return 3 * y

    run = converted(function, mode)
    x = paddle.to_tensor([1.0], stop_gradient=False)
    removed = _stepped(run, x, lambda: handles[-1].remove())
    anew = _stepped(run, x, lambda: None)
    again = _stepped(run, x, lambda: handles[-1].remove())
    return [removed, anew, again]


class KeepsItsHandle(nn.Layer):
    """Keeps the handle on itself."""

    def forward(self, x):
        """Hook an intermediate."""
        y = 2 * x
        self.handle = y.register_hook(square)
        return 3 * y


def kept_on_the_layer(mode):
    """Removed through an attribute of the Layer."""
    layer = KeepsItsHandle()
    run = converted(layer, mode)
    x = paddle.to_tensor([1.0], stop_gradient=False)
    removed = _stepped(run, x, lambda: layer.handle.remove())
    return [removed, _stepped(run, x, lambda: None)]


def one_of_two(mode):
    """The hook registered beside it stays."""
    handles = []

    def function(x):
        y = 2 * x
        handles.append(y.register_hook(lambda g: g * 100))
        y.register_hook(square)
        return 3 * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    return _stepped(converted(function, mode), x, lambda: handles[-1].remove())


def of_an_input(mode):
    """The hook on the caller's tensor is removed."""
    handles = []

    def function(x):
        handles.append(x.register_hook(square))
        return 3 * x

    x = paddle.to_tensor([1.0], stop_gradient=False)
    return _stepped(converted(function, mode), x, lambda: handles[-1].remove())


def between_two_backwards_of_two_graphs(mode):
    """A handle acts on the latest forward: the graph before it keeps its hook."""
    handles = []

    def function(x):
        y = 2 * x
        handles.append(y.register_hook(square))
        return 3 * y

    run = converted(function, mode)
    first = paddle.to_tensor([1.0], stop_gradient=False)
    second = paddle.to_tensor([1.0], stop_gradient=False)
    first_loss = run(first).sum()
    second_loss = run(second).sum()
    handles[-1].remove()
    first_loss.backward()
    second_loss.backward()
    return [first.grad.item(), second.grad.item()]


ENTRIES = [
    Scenario(kept_in_a_list, [6.0, 18.0, 6.0]),
    Scenario(kept_on_the_layer, [6.0, 18.0]),
    Scenario(one_of_two, 18.0),
    Scenario(of_an_input, 3.0),
    Scenario(between_two_backwards_of_two_graphs, [18.0, 6.0]),
]
