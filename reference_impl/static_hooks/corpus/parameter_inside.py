"""A hook registered on a parameter in `forward` is added once per call, as in eager mode."""

import paddle
from paddle import nn

from . import NO_PROGRAM, Case, Scenario, converted


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


class InForward(nn.Layer):
    """Registers on its weight at each call."""

    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([1], default_initializer=nn.initializer.Constant(2.0))

    def forward(self, x):
        """Hook the weight, then use it."""
        self.weight.register_hook(square)
        return self.weight * x


class Doubling(nn.Layer):
    """The known trap: twice, four times, eight times the gradient."""

    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([1], default_initializer=nn.initializer.Constant(2.0))

    def forward(self, x):
        """Hook the weight again at each call."""
        self.weight.register_hook(lambda g: 2 * g)
        return self.weight * x


class CapturesTheActivation(nn.Layer):
    """The hook on the weight uses a value of the forward pass."""

    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([1], default_initializer=nn.initializer.Constant(2.0))

    def forward(self, x):
        """Hook the weight with a body that needs the output."""
        y = self.weight * x
        self.weight.register_hook(lambda g: g * y)
        return 5 * y


def a_global_parameter(mode):
    """A plain function registers on a parameter that it reaches from outside."""
    weight = paddle.create_parameter(
        [1], "float32", default_initializer=nn.initializer.Constant(2.0)
    )

    def function(x):
        weight.register_hook(square)
        return weight * x

    run = converted(function, mode)
    run(paddle.to_tensor([3.0])).sum().backward()
    return weight.grad.tolist()


ENTRIES = [
    Case(InForward, ([3.0],), {"x0": [2.0], "weight": [9.0]}, not_applicable=NO_PROGRAM),
    Case(Doubling, ([3.0],), {"x0": [6.0], "weight": [42.0]}, rounds=3, not_applicable=NO_PROGRAM),
    Case(CapturesTheActivation, ([3.0],), {"weight": [90.0]}, not_applicable=NO_PROGRAM),
    Scenario(a_global_parameter, [9.0]),
]
