"""A hook may be registered in a loop, on a tensor of each iteration."""

import paddle
from paddle import nn

from . import NO_PROGRAM, Case


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def each_iteration(x):
    """Every iteration hooks its own tensor."""
    for _ in range(3):
        x = x * 2
        x.register_hook(lambda g: g + 1)
    return x


def one_iteration(x):
    """Only the second iteration registers."""
    for k in range(3):
        x = x * 2
        if k == 1:
            x.register_hook(square)
    return 3 * x


def collected_then_hooked(x, log):
    """A second loop registers on what the first one made."""
    ys = []
    for k in range(3):
        ys.append((k + 1) * x)
    for y in ys:
        y.register_hook(lambda g: log.append(g.item()))
        y.register_hook(square)
    return 2 * ys[0] + 3 * ys[1] + 4 * ys[2]


def while_on_a_number(x):
    """A `while` that tracing unrolls."""
    k = 0
    while k < 3:
        x = (k + 1) * x
        x.register_hook(square)
        k += 1
    return x


def while_on_a_value(x):
    """A `while` on a tensor's value, which stays a loop of the graph."""
    y = 2 * x
    y.register_hook(square)
    while y.sum() < 10:
        y = 2 * y
    return y


def while_on_a_value_unhooked(x):
    """The same without a hook."""
    y = 2 * x
    while y.sum() < 10:
        y = 2 * y
    return y


class Recurrent(nn.Layer):
    """An LSTM whose outputs are hooked at each step of a Python loop."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(2, 3)

    def forward(self, x):
        """Step through the sequence."""
        states = None
        total = 0
        for step in range(3):
            out, states = self.cell(x[:, step], states)
            out.register_hook(lambda g: g * g + 0.5)
            total = total + (out * out).sum()
        return total


class LongShortTermMemory(nn.Layer):
    """A whole LSTM as one operation, hooked at its output and its last state."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, 3)

    def forward(self, x):
        """Run over the sequence."""
        outputs, (hidden, _) = self.lstm(x)
        outputs.register_hook(lambda g: g * g + 0.5)
        hidden.register_hook(lambda g: paddle.tanh(g))
        return (outputs * outputs).sum() + 3 * hidden.sum()


SEQUENCE = [[[0.1, 0.5], [-0.3, 0.2], [0.7, -0.1]]]

ENTRIES = [
    Case(each_iteration, ([1.0],), {"x0": [22.0]}),
    Case(one_iteration, ([1.0],), {"x0": [144.0]}, calls=[("square", [6.0])]),
    Case(collected_then_hooked, ([1.0],), {"x0": [70.0]}),
    Case(while_on_a_number, ([1.0],), {"x0": [324.0]}),
    Case(
        while_on_a_value,
        ([1.0],),
        {"x0": [128.0]},
        control=while_on_a_value_unhooked,
        not_applicable={"program": "a plain static program needs `paddle.static.nn.while_loop`"},
    ),
    Case(Recurrent, (SEQUENCE,), rounds=2, not_applicable=NO_PROGRAM),
    Case(LongShortTermMemory, (SEQUENCE,), rounds=2, not_applicable=NO_PROGRAM),
]
