"""A function with an unknown dimension is traced once and its hooks work for every size."""

import paddle
from paddle.static import InputSpec

from . import Scenario, converted


def _over_sizes(mode, function, sizes=(2, 3, 5)):
    run = converted(function, mode, input_spec=[InputSpec([None, 4], "float32")])
    found = []
    for size in sizes:
        x = paddle.ones([size, 4])
        x.stop_gradient = False
        run(x).sum().backward()
        found.append([list(x.grad.shape), x.grad.sum().item()])
    return found


def a_traced_body(mode):
    """Squares, for three batch sizes."""

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: g * g)
        return 3 * y

    return _over_sizes(mode, function)


def a_body_that_is_called_back(mode):
    """Looks at the shape of each batch."""
    shapes = []

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: shapes.append(list(g.shape)))
        return 3 * y

    return [_over_sizes(mode, function), shapes]


def a_body_that_reduces(mode):
    """Divides by the sum over the unknown dimension."""

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: g / g.sum(axis=0, keepdim=True))
        return 3 * y

    return _over_sizes(mode, function)


SQUARED = [[[2, 4], 144.0], [[3, 4], 216.0], [[5, 4], 360.0]]
PLAIN = [[[2, 4], 48.0], [[3, 4], 72.0], [[5, 4], 120.0]]
ENTRIES = [
    Scenario(a_traced_body, SQUARED),
    Scenario(a_body_that_is_called_back, [PLAIN, [[2, 4], [3, 4], [5, 4]]]),
    Scenario(a_body_that_reduces, [[[2, 4], 8.0], [[3, 4], 8.0], [[5, 4], 8.0]]),
]
