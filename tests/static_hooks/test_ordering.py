"""Effects of hooks on different tensors come in eager's order."""

from collections.abc import Callable
from typing import Any

import paddle
import pytest
from static_hooks import compare

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
    pytest.mark.filterwarnings("ignore:Find variable"),  # Paddle's advice against `log.append`
]


def note(log: list[Any], name: str, *tensors: paddle.Tensor) -> None:
    """Hook each tensor with one that appends its name."""
    for index, tensor in enumerate(tensors):
        tensor.register_hook(lambda g, index=index: log.append(f"{name}{index}"))


def chain(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """One after the other, the last tensor first."""
    a = 2 * x
    b = paddle.tanh(a)
    c = b * b
    note(log, "", a, b, c)
    return 3 * c


def diamond(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Two arms of the same length, then of different lengths."""
    a = 2 * x
    left, right = 3 * a, 5 * a
    longer = paddle.tanh(right)
    out = left * longer
    note(log, "", a, left, right, longer, out)
    return out


def wide(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Many arms, consumed in an order of their own."""
    arms = [x * (index + 2) for index in range(6)]
    note(log, "", *arms)
    return arms[3] + arms[0] * arms[5] - arms[1] + arms[4] * arms[2]


def uneven(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Arms that wait for each other."""
    a = 2 * x
    b = a * a
    c = b + a
    d = c * b
    e = d + a
    note(log, "", a, b, c, d, e)
    return e * c


def on_one_tensor(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Several hooks on one tensor come in the order registered."""
    y = 2 * x
    note(log, "", y, y, y)
    return y * y


def several_results(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Hooks on the results of one operation come in the order registered."""
    a, b, c = paddle.split(paddle.concat([x, 2 * x, 3 * x]), 3)
    note(log, "", c, a, b)
    return a * b + c


def several_outputs(x: paddle.Tensor, log: list[Any]) -> tuple[paddle.Tensor, ...]:
    """Outputs of the function, used inside as well."""
    a = 2 * x
    b = a * a
    c = b * 3
    note(log, "", a, b, c)
    return c, a, b


def traced_between(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Traced hooks between those with effects."""
    a = 2 * x
    a.register_hook(lambda g: g * g)
    b = a * a
    note(log, "", a)
    b.register_hook(lambda g: g + 1)
    note(log, "b", b)
    return b * a


def in_a_list(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Tensors that go through a list into one operation."""
    a, b, c = 2 * x, 3 * x, 5 * x
    note(log, "", a, b, c)
    return paddle.concat([c, a, b]) * paddle.add_n([a, c])


@pytest.mark.parametrize(
    "function",
    [
        chain,
        diamond,
        wide,
        uneven,
        on_one_tensor,
        several_results,
        several_outputs,
        traced_between,
        in_a_list,
    ],
    ids=lambda function: function.__name__,
)
def test_order_of_effects(function: Callable[..., Any]) -> None:
    """A static graph runs the effects in eager's order, at each of several steps."""
    report = compare(function, [1.0], rounds=3)
    assert () == report.differences
    assert report.ast.log


def test_order_is_stable() -> None:
    """Fifty steps in a row have the same order: no executor thread can change it."""
    log: list[str] = []

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        a = 2 * x
        left, right = 3 * a, 5 * a
        for name, tensor in (("a", a), ("left", left), ("right", right)):
            tensor.register_hook(lambda g, name=name: log.append(name))
        return left * right

    static = paddle.jit.to_static(forward, full_graph=True)
    for _ in range(50):
        static(paddle.to_tensor([1.0], stop_gradient=False)).sum().backward()
    assert ["left", "right", "a"] * 50 == log


def test_each_after_its_consumers() -> None:
    """`eager_order` returns every operation once, each after all that use its results."""
    from static_hooks.ordering import eager_order

    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()):
            x = paddle.static.data("x", [3, 2])
            parts = paddle.split(x, 3)
            paddle.concat([parts[2], parts[0] * parts[1]]) + 1
            operations = paddle.static.default_main_program().global_block().ops
            order = eager_order(operations)
            places = {op.id(): place for place, op in enumerate(order)}
            for op in operations:
                users = [user for result in op.results() for user in result.all_used_ops()]
                assert [] == [u for u in users if places[u.id()] > places[op.id()]]
            assert len(operations) == len(places)
    finally:
        paddle.disable_static()
