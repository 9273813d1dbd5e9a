"""A hook registered on a parameter outside `forward` works through the eager parameter."""

import paddle
from paddle import nn

from . import NO_PROGRAM, Case, Scenario, converted


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


class InInit(nn.Layer):
    """Registers on its weight when it is made."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(1, 1, weight_attr=nn.initializer.Constant(0.5))
        self.fc.weight.register_hook(square)

    def forward(self, x):
        """Apply the linear layer."""
        return 3 * self.fc(x)


class SharedParameter(nn.Layer):
    """One parameter, used twice in one call."""

    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([1], default_initializer=nn.initializer.Constant(2.0))
        self.weight.register_hook(square)

    def forward(self, x):
        """Use the parameter twice."""
        return self.weight * self.weight * x


def before_conversion(mode):
    """Registered on a Layer that is converted afterwards, over three steps."""
    seen = []
    layer = nn.Linear(1, 1, weight_attr=nn.initializer.Constant(0.5))
    layer.weight.register_hook(lambda g: seen.append(g.item()))
    run = converted(layer, mode)
    for k in range(1, 4):
        run(paddle.to_tensor([[float(k)]])).sum().backward()
    return [seen, layer.weight.grad.tolist()]


def after_the_first_step(mode):
    """Registered when the function is already traced."""
    layer = nn.Linear(1, 1, weight_attr=nn.initializer.Constant(0.5))
    run = converted(layer, mode)
    run(paddle.to_tensor([[3.0]])).sum().backward()
    layer.weight.register_hook(square)
    run(paddle.to_tensor([[3.0]])).sum().backward()
    return layer.weight.grad.tolist()


ENTRIES = [
    Case(
        InInit,
        ([[2.0]],),
        {"x0": [[4.5]], "fc.weight": [[108.0]], "fc.bias": [9.0]},
        rounds=3,
        not_applicable=NO_PROGRAM,
    ),
    Case(SharedParameter, ([3.0],), {"x0": [4.0], "weight": [144.0]}, not_applicable=NO_PROGRAM),
    Scenario(before_conversion, [[1.0, 2.0, 3.0], [[6.0]]]),
    Scenario(after_the_first_step, [[12.0]]),
]
