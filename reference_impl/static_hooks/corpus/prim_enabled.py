"""Hooks work when Paddle decomposes operations into primitive ones before backward."""

import paddle
from paddle.base import core

from . import Scenario, converted


def _decomposed(mode, function):
    x = paddle.to_tensor([[0.0, 0.0], [1.0, -1.0]], stop_gradient=False)
    core._set_prim_all_enabled(True)
    try:
        converted(function, mode)(x).sum().backward()
    finally:
        core._set_prim_all_enabled(False)
    return [[round(value, 4) for value in row] for row in x.grad.tolist()]


def softmax(mode):
    """On the result of a softmax, which is decomposed."""

    def function(x):
        y = paddle.nn.functional.softmax(x)
        y.register_hook(lambda g: g * g)
        return y * paddle.to_tensor([1.0, 3.0])

    return _decomposed(mode, function)


def before_a_decomposed_operation(mode):
    """On the input of a GELU and the result of a layer normalisation."""

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: g * g + 1)
        z = paddle.nn.functional.gelu(y)
        n = paddle.nn.functional.layer_norm(z + x, [2])
        n.register_hook(lambda g: g * g)
        return n * paddle.to_tensor([1.0, 2.0])

    return _decomposed(mode, function)


def called_back(mode):
    """A body that is called back, between decomposed operations."""
    seen = []

    def function(x):
        y = paddle.nn.functional.silu(2 * x)
        y.register_hook(lambda g: seen.append(g.numpy().tolist()))
        return paddle.mean(y * y)

    return [_decomposed(mode, function), len(seen)]


ENTRIES = [
    Scenario(softmax, [[-2.0, 2.0], [-0.8399, 0.8399]]),
    Scenario(before_a_decomposed_operation),
    Scenario(called_back),
]
