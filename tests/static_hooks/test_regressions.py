"""Programs that once went wrong, each reduced to what mattered."""

from typing import Any, NamedTuple

import paddle
import pytest
from paddle import nn
from static_hooks import compare

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
]

scale: Any = None  # stands for a forward value of another program, under the name of an attribute


class Scaled(nn.Layer):
    """Reads an attribute whose name is a global's too."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = 5.0

    def times_scale(self, gradient: paddle.Tensor) -> paddle.Tensor:
        """Multiply by the attribute."""
        return gradient * gradient * self.scale

    def forward(self, x: Any) -> Any:
        """Hook an intermediate with the method."""
        y = 2 * x
        y.register_hook(self.times_scale)
        return 3 * y


def test_a_global_with_the_name_of_an_attribute_is_not_captured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A body that reads `self.scale` does not capture a global called `scale`."""
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            monkeypatch.setitem(globals(), "scale", paddle.static.data("other", [1]))
    finally:
        paddle.disable_static()
    report = compare(Scaled, [1.0])
    assert () == report.differences
    assert [90.0] == report.ast.gradients["x0"].tolist()


def captures_a_tensor_that_nothing_uses(x: Any) -> Any:
    """Hook with a tensor of a shape that no operation has seen."""
    weights = paddle.to_tensor([[[[1.0], [2.0]], [[3.0], [4.0]]]])
    y = 2 * x
    y.register_hook(lambda gradient: gradient * gradient * weights.sum())
    return 3 * y


def test_sot_decides_on_a_hook_whose_tensor_it_has_not_seen() -> None:
    """A captured tensor that no operation of the frame uses lets the frame be compiled."""
    report = compare(captures_a_tensor_that_nothing_uses, [1.0], modes=("eager", "sot"))
    assert () == report.differences
    assert [180.0] == report.sot.gradients["x0"].tolist()


class Pair(NamedTuple):
    """What a frame keeps two tensors in."""

    left: Any
    right: Any


def captures_a_named_tuple(x: Any, log: list[Any]) -> Any:
    """Hook with a body that reads fields of a named tuple made in the function."""
    pair = Pair(2 * x, 3 * x)
    pair.left.register_hook(lambda gradient: gradient * pair.right)
    pair.right.register_hook(lambda gradient: log.append(type(pair).__name__))
    return pair.left * pair.right


def test_a_named_tuple_that_a_hook_captures_keeps_its_type() -> None:
    """A body may read the fields of a named tuple by name, in every mode."""
    report = compare(captures_a_named_tuple, [1.0], modes=("eager", "ast", "sot"))
    assert () == report.differences
    assert [24.0] == report.eager.gradients["x0"].tolist()
    assert ["Pair"] == report.eager.log


def two_results(x: Any) -> Any:
    """Hook what leads to one of two results, and what leads to both."""
    y = 2 * x
    y.register_hook(lambda gradient: gradient * gradient)
    left, right = 3 * y, 5 * y
    right.register_hook(lambda gradient: gradient + 7)
    return left, right


@pytest.mark.parametrize(
    ("differentiated", "gradient"),
    [([0], 2 * 3**2), ([1], 2 * (5 * 8) ** 2), ([0, 1], 2 * (3 + 5 * 8) ** 2)],
)
@pytest.mark.parametrize("full_graph", [True, False], ids=["ast", "sot"])
def test_a_backward_from_some_results_calls_no_hook_of_the_others(
    full_graph: bool, differentiated: list[int], gradient: float
) -> None:
    """The zeros that Paddle gives a result without a gradient reach no hook."""
    x = paddle.to_tensor([1.0], stop_gradient=False)
    results = paddle.jit.to_static(two_results, full_graph=full_graph)(x)
    paddle.autograd.backward([results[index] for index in differentiated])
    assert [gradient] == x.grad.tolist()


def leaf_beside_an_intermediate(x: Any, w: Any, log: list[Any]) -> Any:
    """Hook both factors of a product, one of which is a leaf."""
    h = paddle.tanh(x)
    for name, tensor in (("h", h), ("x", x), ("w", w)):
        tensor.register_hook(lambda gradient, name=name: log.append(name))
    return h * w


def test_hooks_of_a_leaf_run_before_those_of_its_siblings() -> None:
    """In a plain static program too, a leaf's gradient is delivered before the walk goes on."""
    report = compare(leaf_beside_an_intermediate, [1.0], [2.0], modes=("eager", "program"))
    assert () == report.differences
    assert ["w", "h", "x"] == report.eager.log
