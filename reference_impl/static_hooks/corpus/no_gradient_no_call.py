"""A hook on a tensor that no gradient reaches is not called."""

import paddle

from . import Case


def off_the_path(x, log):
    """Nothing uses the hooked tensor."""
    y = 2 * x
    y.register_hook(lambda g: log.append("never"))
    return 3 * x


def behind_detach(x, log):
    """The only use is detached."""
    y = 2 * x
    y.register_hook(lambda g: log.append("never"))
    return y.detach() * 3 + 5 * x


def behind_an_index(x, log):
    """The only use is an operation without a gradient."""
    y = 2 * x
    y.register_hook(lambda g: log.append("never"))
    return 4 * x + y.argmax().astype("float32")


def behind_no_grad(x, log):
    """The only use is inside `no_grad`."""
    y = 2 * x
    y.register_hook(lambda g: log.append("never"))
    with paddle.no_grad():
        z = y * 10
    return 4 * x + z


def unused_result_of_split(x, log):
    """An unused result of an operation with several is the exception: it gets zeros."""
    a, b = paddle.split(2 * x, 2)
    a.register_hook(lambda g: log.append(("a", g.numpy().tolist())))
    b.register_hook(lambda g: log.append(("b", g.numpy().tolist())))
    return a * a


ENTRIES = [
    Case(off_the_path, ([1.0],), {"x0": [3.0]}, calls=[], log=[]),
    Case(behind_detach, ([1.0],), {"x0": [5.0]}, calls=[], log=[]),
    Case(behind_an_index, ([1.0, 2.0],), {"x0": [4.0, 4.0]}, calls=[], log=[]),
    Case(behind_no_grad, ([1.0],), {"x0": [4.0]}, calls=[], log=[]),
    Case(
        unused_result_of_split,
        ([1.0, 2.0],),
        {"x0": [8.0, 0.0]},
        log=[("a", [4.0]), ("b", [0.0])],
    ),
]
