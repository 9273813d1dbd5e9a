"""A function called with several shapes and dtypes is traced several times, each with its hooks."""

import paddle

from . import Scenario, converted


def shapes_in_turn(mode):
    """Two shapes, back and forth."""
    seen = []

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: seen.append(list(g.shape)))
        y.register_hook(lambda g: g * g)
        return 3 * y

    run = converted(function, mode)
    found = []
    for shape in ([2], [2, 3], [2], [2, 3]):
        x = paddle.ones(shape)
        x.stop_gradient = False
        run(x).sum().backward()
        found.append(x.grad.sum().item())
    return [found, seen]


def dtypes_in_turn(mode):
    """float32 and float64."""
    seen = []

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: seen.append(str(g.dtype)))
        return 3 * y

    run = converted(function, mode)
    for dtype in ("float32", "float64", "float32"):
        x = paddle.ones([2], dtype)
        x.stop_gradient = False
        run(x).sum().backward()
    return seen


def a_flag(mode):
    """A Python argument that decides whether there is a hook."""

    def function(x, hooked):
        y = 2 * x
        if hooked:
            y.register_hook(lambda g: g * g)
        return 3 * y

    run = converted(function, mode)
    found = []
    for hooked in (True, False, True):
        x = paddle.ones([1])
        x.stop_gradient = False
        run(x, hooked).sum().backward()
        found.append(x.grad.item())
    return found


ENTRIES = [
    Scenario(shapes_in_turn, [[36.0, 108.0, 36.0, 108.0], [[2], [2, 3], [2], [2, 3]]]),
    Scenario(dtypes_in_turn, ["paddle.float32", "paddle.float64", "paddle.float32"]),
    Scenario(a_flag, [18.0, 6.0, 18.0]),
]
