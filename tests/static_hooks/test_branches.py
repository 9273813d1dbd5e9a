"""A hook registered in a branch on a tensor from outside it fires only where the branch ran."""

from collections.abc import Callable
from typing import Any

import paddle
import pytest
from static_hooks import UnsupportedHookError, compare, explain

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
    pytest.mark.filterwarnings("ignore:Find variable"),  # Paddle's advice against `log.append`
]


def gradients(function: Callable[..., Any], *inputs: list[float]) -> list[list[float]]:
    """Return the gradient of each input in turn."""
    found = []
    for values in inputs:
        x = paddle.to_tensor(values, stop_gradient=False)
        function(x).sum().backward()
        found.append(x.grad.tolist())
    return found


def converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Convert the whole of a function."""
    return paddle.jit.to_static(function, full_graph=True)


def on_an_intermediate(x: paddle.Tensor) -> paddle.Tensor:
    """Hook an outer tensor differently in the two branches, and in both."""
    y = 2 * x
    if y.sum() > 0:
        y.register_hook(lambda g: g * g)
    else:
        y.register_hook(lambda g: g * g * g)
    y.register_hook(lambda g: g + 1)
    return y * y


def on_the_input(x: paddle.Tensor) -> paddle.Tensor:
    """Hook the function's input in a branch."""
    if x.sum() > 0:
        x.register_hook(lambda g: g * g)
    return x * x


def in_a_nested_branch(x: paddle.Tensor) -> paddle.Tensor:
    """Hook an outer tensor two branches deep."""
    y = 2 * x
    is_positive, is_large = y.sum() > 0, y.sum() > 10
    if is_positive:
        if is_large:
            y.register_hook(lambda g: g * g)
        else:
            y.register_hook(lambda g: g + 1)
    return y * y


def of_the_branch(x: paddle.Tensor) -> paddle.Tensor:
    """Hook tensors that the branches make, which needs no predicate."""
    y = 2 * x
    if y.sum() > 0:
        z = 3 * y
        z.register_hook(lambda g: g * g)
    else:
        z = 5 * y
        z.register_hook(lambda g: g * g * g)
    return 4 * z


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (on_an_intermediate, [[34.0, 130.0], [-126.0, -1022.0], [34.0, 130.0]]),
        (on_the_input, [[4.0, 16.0], [-2.0, -4.0], [4.0, 16.0]]),
        (in_a_nested_branch, [[10.0, 18.0], [-8.0, -16.0], [10.0, 18.0]]),
        (of_the_branch, [[96.0, 96.0], [640.0, 640.0], [96.0, 96.0]]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_only_what_ran(function: Callable[..., Any], expected: list[list[float]]) -> None:
    """Each run fires the hooks of its own branches, whichever branch was traced or run first."""
    inputs = ([1.0, 2.0], [-1.0, -2.0], [1.0, 2.0])
    assert expected == gradients(function, *inputs)
    assert expected == gradients(converted(function), *inputs)


def test_large_input() -> None:
    """The inner of two nested branches has its own predicate."""
    assert [[3200.0, 128.0]] == gradients(converted(in_a_nested_branch), [10.0, 2.0])


def test_effects() -> None:
    """A hook with effects, in a branch, has effects only where the branch ran."""
    log: list[Any] = []

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        m = paddle.tanh(y)
        if y.sum() > 0:
            y.register_hook(lambda g: log.append(("positive", g.tolist(), m.shape)))
        return y * y

    gradients(converted(forward), [1.0], [-1.0], [2.0])
    assert [("positive", [4.0], [1]), ("positive", [8.0], [1])] == log


class Scaled(paddle.nn.Layer):
    """Hooks its parameter in a branch."""

    def __init__(self) -> None:
        super().__init__()
        start = paddle.nn.initializer.Constant(1.0)
        self.weight = self.create_parameter([1], default_initializer=start)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Scale the input."""
        if x.sum() > 0:
            self.weight.register_hook(lambda g: g * g)
        return x * self.weight


def test_parameter() -> None:
    """A hook on a parameter, registered in a branch, stays on it from that run on."""
    found = []
    for convert in (lambda function: function, converted):
        net = Scaled()
        weight, called, steps = net.weight, convert(net), []
        for value in (-3.0, 2.0, -3.0, 2.0):
            called(paddle.to_tensor([value], stop_gradient=False)).sum().backward()
            steps.append(weight.grad.tolist())
            weight.clear_gradient(set_to_zero=False)
        found.append(steps)
    assert [[[-3.0], [4.0], [9.0], [16.0]]] * 2 == found


def test_handle() -> None:
    """The handle of a hook in a branch removes it."""
    handles = []

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        if y.sum() > 0:
            handles.append(y.register_hook(lambda g: g * g))
        return y * y

    static = converted(forward)
    x = paddle.to_tensor([1.0], stop_gradient=False)
    loss = static(x).sum()
    assert handles[0].remove()
    loss.backward()
    assert [8.0] == x.grad.tolist()
    assert [[32.0]] == gradients(static, [1.0])


def test_explained() -> None:
    """`explain` says why such a hook is called back."""
    rows = explain(on_an_intermediate, paddle.to_tensor([1.0], stop_gradient=False))
    reason = "it is registered in a branch, which may not run"
    assert [reason, reason, "tensor operations alone"] == [row.reason for row in rows]


def test_branch_in_a_branch() -> None:
    """An inner predicate that is made in the outer branch is refused: only that branch has it."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        if y.sum() > 0:
            if y.sum() > 10:
                y.register_hook(lambda g: g * g)
            y = y + 1
        return y * y

    with pytest.raises(UnsupportedHookError, match="a hook in a branch within a branch must be on"):
        converted(forward)(paddle.to_tensor([1.0], stop_gradient=False))


def test_loop() -> None:
    """In a loop on tensors a hook on a tensor from outside is refused, with what to do."""

    def forward(x: paddle.Tensor, n: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        i = paddle.zeros([], "int32")
        while i < n:
            y.register_hook(lambda g: g * g)
            i = i + 1
        return y * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(UnsupportedHookError) as caught:
        converted(forward)(x, paddle.to_tensor(2))
    assert (
        "register_hook: a hook in a loop that a tensor ends must be on a tensor made there, "
        "but got one from outside; register it outside, and decide in its body"
    ) in str(caught.value)


def test_variable_of_a_loop() -> None:
    """A hook on the variable of a loop on tensors is one on a tensor of that loop."""

    def forward(x: paddle.Tensor, n: paddle.Tensor) -> paddle.Tensor:
        i = paddle.zeros([], "int32")
        while i < n:
            x.register_hook(lambda g: g * g)
            x = x * 2
            i = i + 1
        return x

    with paddle.no_grad():  # Paddle can't run the backward of such a loop, hooks or not
        y = converted(forward)(paddle.to_tensor([1.0], stop_gradient=False), paddle.to_tensor(3))
    assert [8.0] == y.tolist()


@pytest.mark.filterwarnings("ignore:Return results has maybe unbound local variable")
def test_value_of_the_branch() -> None:
    """A hook on an outer tensor can't use what only the branch has, and says so."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        if y.sum() > 0:
            m = paddle.tanh(y)
            y.register_hook(lambda g: g * m)
            z = y * m
        else:
            z = y
        return z * y

    with pytest.raises(UnsupportedHookError, match="made inside a branch or loop; return it"):
        converted(forward)(paddle.to_tensor([1.0], stop_gradient=False))


def assigned_after_the_branch(x: paddle.Tensor) -> paddle.Tensor:
    """The variable of a hook in a branch is assigned behind the `if`."""
    scale, y = x * 3, x * 2
    if x.mean() > 0.2:
        y.register_hook(lambda g: g * scale)
        y = y * 5
    scale = scale * 7
    return y + scale


def assigned_later_in_the_branch(x: paddle.Tensor) -> paddle.Tensor:
    """The variable is assigned in the branch, behind the registration."""
    scale, y = x * 3, x * 2
    if x.mean() > 0.2:
        z = y * 2
        z.register_hook(lambda g: g * scale)
        scale = scale * 7
        y = z * 3
    return y + scale


def assigned_in_a_loop_of_the_branch(x: paddle.Tensor) -> paddle.Tensor:
    """Each round of a loop assigns the variable that the hooks of all rounds share."""
    y = x * 2
    if x.mean() > 0.2:
        for index in range(3):
            scale = y * (index + 1)
            y = scale * 2
            y.register_hook(lambda g: g * scale)  # noqa: B023 - the point of it
    return y


def assigned_in_another_branch(x: paddle.Tensor) -> paddle.Tensor:
    """A second `if` may assign the variable."""
    scale, y = x * 3, x * 2
    if x.mean() > 0.2:
        z = y * 2
        z.register_hook(lambda g: g * scale)
        y = z * 3
    if x.mean() > 0.6:
        scale = scale * 7
    return y + scale


@pytest.mark.parametrize("value", [0.125, 0.5, 0.75])
@pytest.mark.parametrize(
    "function",
    [
        assigned_after_the_branch,
        assigned_later_in_the_branch,
        assigned_in_a_loop_of_the_branch,
        assigned_in_another_branch,
    ],
)
@pytest.mark.filterwarnings("ignore:Return results has maybe unbound")
def test_variable_that_is_assigned_after_the_registration(function: Any, value: float) -> None:
    """The hook reads what the variable holds when backward runs, as in eager mode."""
    assert () == compare(function, [value], rounds=2).differences


def assigned_in_both_branches(x: paddle.Tensor) -> paddle.Tensor:
    """Both branches hook a tensor from outside, and assign the variable that their hooks read."""
    scale, y = x * 3, x * 2
    if x.mean() > 0.2:
        y.register_hook(lambda g: g * scale)
        scale = scale * 2
    else:
        y.register_hook(lambda g: g * scale * scale)
        scale = scale * 7
    return y * scale


@pytest.mark.parametrize("value", [0.125, 0.5])
def test_hook_from_a_branch_on_a_tensor_from_outside_reads_what_the_if_returns(
    value: float,
) -> None:
    """What is made in the branch can't be seen where the tensor was made; the result can."""
    assert () == compare(assigned_in_both_branches, [value], rounds=2).differences
