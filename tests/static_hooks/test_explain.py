"""`explain` says of every hook where it stands, how it runs, and why."""

import functools
from pathlib import Path
from typing import Any

import paddle
import pytest
from paddle.static import InputSpec
from static_hooks import Explanation, callback, disable, explain, patches
from static_hooks.runs import compiling

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
]

rate = 0.5


def square(g: paddle.Tensor) -> paddle.Tensor:
    """Be a hook of tensor operations."""
    return g * g


def scaled(g: paddle.Tensor) -> paddle.Tensor:
    """Be a hook that reads a global."""
    return g * rate


def leaf(values: Any) -> paddle.Tensor:
    """Return a tensor that gradients flow to."""
    return paddle.to_tensor(values, stop_gradient=False)


class Net(paddle.nn.Layer):
    """Has hooks of every kind."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(2, 3)
        self.kept: Any = None

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Register them."""
        x.register_hook(square)
        self.linear.weight.register_hook(scaled)
        y = self.linear(x)
        y.register_hook(square)
        removed = y.register_hook(square)
        y.register_hook(scaled)
        self.kept = paddle.tanh(y).register_hook(functools.partial(square))
        removed.remove()
        return y.sum()


def test_rows() -> None:
    """There is a row for each hook that is registered in the end, in order, with its reason."""
    rows = explain(Net(), leaf([[1.0, 2.0]]))
    line = Net.forward.__code__.co_firstlineno
    delegated = "its tensor is the caller's: registered on it at each run"
    assert [
        ("square", "input or parameter [1, 2] float32", "delegated", delegated),
        ("scaled", "input or parameter [2, 3] float32", "delegated", delegated),
        ("square", "add [1, 3] float32", "traced", "tensor operations alone"),
        (
            "scaled",
            "add [1, 3] float32",
            "callback",
            "it reads the global 'rate', which may change between steps",
        ),
        (
            "square",
            "tanh [1, 3] float32",
            "callback",
            "its handle is kept, so it may be removed later",
        ),
    ] == [(row.hook, row.tensor, row.runs, row.reason) for row in rows]
    assert [f"{__file__}:{line + n}" for n in (2, 3, 5, 7, 8)] == [row.where for row in rows]


def test_as_text() -> None:
    """It prints as a table: a line a hook, the reason under it."""
    text = repr(explain(Net(), leaf([[1.0, 2.0]])))
    lines = text.splitlines()
    assert 10 == len(lines)
    assert lines[4].startswith("square                   traced    add [1, 3] float32 ")
    assert lines[4].endswith(f"{Path(__file__).name}:{Net.forward.__code__.co_firstlineno + 5}")
    assert "    tensor operations alone" == lines[5]


def test_no_hooks() -> None:
    """A function without hooks is explained in two words."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        return 2 * x

    rows = explain(forward, leaf([1.0]))
    assert Explanation() == rows
    assert "no hooks" == repr(rows)


def test_converted() -> None:
    """A function or Layer that is converted already is explained like the original."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(callback(square))
        return y

    try:
        plain = explain(forward, leaf([1.0]))
        static = explain(paddle.jit.to_static(forward, full_graph=True), leaf([1.0]))
        sot = explain(paddle.jit.to_static(forward, full_graph=False), leaf([1.0]))
    finally:
        vars(square).clear()
    assert ["marked @callback"] == [row.reason for row in plain]
    assert plain == static
    assert plain == sot
    layer = paddle.jit.to_static(Net(), full_graph=True)
    assert 5 == len(explain(layer, leaf([[1.0, 2.0]])))


def test_dynamic_shape() -> None:
    """A specification serves as an input; a dynamic dimension is -1."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(square)
        y.register_hook(lambda g: g[:1])
        return y

    rows = explain(forward, InputSpec([None, 4], "float32", stop_gradient=False))
    assert ["scale [-1, 4] float32"] * 2 == [row.tensor for row in rows]
    assert [
        "tensor operations alone",
        "its gradient's shape is dynamic, and what it returns may have another",
    ] == [row.reason for row in rows]


def test_tensor_from_outside() -> None:
    """A tensor that the function reaches from outside is a parameter to it."""
    weight = leaf([2.0])

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        weight.register_hook(square)
        return x * weight

    (row,) = explain(forward, leaf([1.0]))
    assert ("input or parameter [1] float32", "delegated") == (row.tensor, row.runs)


@pytest.mark.filterwarnings("ignore:Find variable")
def test_variable_of_a_loop() -> None:
    """A hook on the variable of a loop on tensors is explained as well."""

    def forward(x: paddle.Tensor, n: paddle.Tensor) -> paddle.Tensor:
        i = paddle.zeros([], "int32")
        while i < n:
            x.register_hook(square)
            x = x * 2
            i = i + 1
        return x

    (row,) = explain(forward, leaf([1.0]), paddle.to_tensor(3))
    assert "loop variable [1] float32" == row.tensor


def test_what_runs_eagerly_in_sot() -> None:
    """Once the default mode has run a function eagerly, the rows of its hooks say why and where."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(square)
        z = y + 1
        z[0] = 3.0
        return y * z

    (before,) = explain(forward, leaf([1.0, 2.0]))
    with compiling():
        paddle.jit.to_static(forward, full_graph=False)(leaf([1.0, 2.0]))
    found = explain(forward, leaf([1.0, 2.0]))
    line = forward.__code__.co_firstlineno + 2
    why = (
        "the function runs eagerly, since Paddle's graph is wrong about in-place changes (setitem)"
    )
    assert ("", f"{__file__}:{line}: {why}") == (before.sot, found[0].sot)
    assert f"    in SOT: {__file__}:{line}: {why}" == repr(found).splitlines()[2]


def test_without_enable() -> None:
    """It enables hooks for the trace, and leaves them as they were."""
    disable()

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(square)
        return y

    assert ["traced"] == [row.runs for row in explain(forward, leaf([1.0]))]
    assert [] == patches.replaced
