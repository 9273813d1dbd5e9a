"""A hook works on one result of an operation that has several."""

import paddle

from . import Case


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def one_of_split(x):
    """The first half is hooked, the second is not."""
    a, b = paddle.split(2 * x, 2)
    a.register_hook(square)
    return a * a + b


def each_of_unbind(x, log):
    """Every row has a hook of its own."""
    rows = paddle.unbind(2 * x)
    for k, row in enumerate(rows):
        row.register_hook(lambda g, k=k: log.append((k, g.item())))
    return rows[0] * rows[1] + 5 * rows[2]


def values_of_topk(x):
    """Values can be hooked; the indices beside them stop gradients."""
    values, _ = paddle.topk(2 * x, 2)
    values.register_hook(square)
    return values * paddle.to_tensor([1.0, 2.0])


def chunks_in_a_loop(x):
    """Three chunks, three hooks, one of them doing nothing."""
    total = x.sum() * 0
    for k, chunk in enumerate(paddle.chunk(3 * x, 3)):
        if k < 2:
            chunk.register_hook(square)
        total = total + (k + 2) * chunk.sum()
    return total


ENTRIES = [
    Case(one_of_split, ([2.0, 3.0],), {"x0": [128.0, 2.0]}, calls=[("square", [8.0])]),
    Case(each_of_unbind, ([1.0, 2.0, 3.0],), {"x0": [8.0, 4.0, 10.0]}),
    Case(values_of_topk, ([1.0, 3.0, 2.0],), {"x0": [0.0, 2.0, 8.0]}),
    Case(chunks_in_a_loop, ([1.0, 1.0, 1.0],), {"x0": [12.0, 27.0, 12.0]}),
]
