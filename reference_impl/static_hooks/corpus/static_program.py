"""Hooks work in plain `paddle.static` programs: `gradients`, `append_backward`, `minimize`."""

import numpy as np
import paddle
from paddle import nn

from . import Case, Scenario

NO_TO_STATIC = {
    "ast": "this is about programs without `to_static`",
    "sot": "this is about programs without `to_static`",
}


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def with_gradients(x):
    """`paddle.static.gradients`."""
    y = 2 * x
    a = 3 * y
    y.register_hook(square)
    return a + 4 * y


def _layer():
    return nn.Linear(
        1, 1, weight_attr=nn.initializer.Constant(2.0), bias_attr=nn.initializer.Constant(0.0)
    )


def _forward(layer, x, seen):
    h = layer(x)
    out = 3 * h
    h.register_hook(lambda g: seen.append(g.item()))
    h.register_hook(square)
    return out.sum()


def _eager_steps(count):
    layer, seen = _layer(), []
    optimizer = paddle.optimizer.SGD(0.01, parameters=layer.parameters())
    for _ in range(count):
        _forward(layer, paddle.to_tensor([[1.0]]), seen).backward()
        optimizer.step()
        optimizer.clear_grad()
    return [round(layer.weight.item(), 4), seen]


def _in_a_program(build, run):
    """Build a program, and run it in a scope of its own."""
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with (
            paddle.static.program_guard(main, startup),
            paddle.static.scope_guard(paddle.static.Scope()),
        ):
            built = build()
            executor = paddle.static.Executor()
            executor.run(startup)
            return run(executor, main, *built)
    finally:
        paddle.disable_static()


FEED = {"x": np.array([[1.0]], "float32")}


def with_minimize(mode):
    """Three steps of an optimizer that is part of the program."""
    if mode == "eager":
        return _eager_steps(3)
    seen = []

    def build():
        layer = _layer()
        loss = _forward(layer, paddle.static.data("x", [1, 1]), seen)
        paddle.optimizer.SGD(0.01).minimize(loss)
        return (layer.weight,)

    def run(executor, main, weight):
        steps = [executor.run(main, feed=FEED, fetch_list=[weight]) for _ in range(3)]
        return [round(steps[-1][0].item(), 4), seen]

    return _in_a_program(build, run)


def with_append_backward(mode):
    """`append_backward` gives the parameters' gradients."""
    if mode == "eager":
        layer, seen = _layer(), []
        _forward(layer, paddle.to_tensor([[1.0]]), seen).backward()
        return [layer.weight.grad.item(), seen]
    seen = []

    def build():
        loss = _forward(_layer(), paddle.static.data("x", [1, 1]), seen)
        return (paddle.static.append_backward(loss),)

    def run(executor, main, pairs):
        gradient = next(g for p, g in pairs if p.shape == [1, 1])
        return [executor.run(main, feed=FEED, fetch_list=[gradient])[0].item(), seen]

    return _in_a_program(build, run)


ENTRIES = [
    Case(with_gradients, ([1.0],), {"x0": [98.0]}, calls=[("square", [7.0])]),
    Scenario(with_minimize, [1.73, [3.0, 3.0, 3.0]], not_applicable=NO_TO_STATIC),
    Scenario(with_append_backward, [9.0, [3.0]], not_applicable=NO_TO_STATIC),
]
