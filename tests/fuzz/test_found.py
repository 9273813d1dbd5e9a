"""What random programs have found: each was wrong once."""

from collections.abc import Iterator

import paddle
import pytest
from static_hooks import UnsupportedHookError, compare, enabled, explain, traced

pytestmark = pytest.mark.filterwarnings(
    "ignore:Tensor do not have .place. interface"  # Paddle asks for it while it builds a backward
)


@pytest.fixture(autouse=True)
def _hooks() -> Iterator[None]:
    with enabled():
        yield


def test_hook_on_an_input_that_no_gradient_reaches_is_not_called():
    """Paddle gives an unused input of a static graph zeros; a hook must not see them."""

    def unused(x, y, log):
        y.register_hook(lambda g: log.append(g.tolist()))
        return x * y.detach()

    report = compare(unused, [2.0], [3.0])

    assert report.differences == ()
    assert [] == report.ast.log
    assert report.ast.gradients["x1"] is None


def test_hook_on_such_an_input_sees_its_uses_outside():
    """The gradient from outside the static function is the whole gradient then."""
    seen = []

    def unused(x, y):
        y.register_hook(lambda g: seen.append(g.tolist()))
        return x * 2

    with_hooks = paddle.jit.to_static(unused, full_graph=True)
    x, y = (paddle.to_tensor([2.0], stop_gradient=False) for _ in range(2))
    (with_hooks(x, y) + y * y).sum().backward()

    assert [[4.0]] == seen
    assert [4.0] == y.grad.tolist()


def test_variable_of_the_function_that_a_hook_is_nested_in_is_settled():
    """Only a `nonlocal` could still rebind it: the body is traced, also two functions deep."""

    def nested(x):
        def inner(y):
            scale = y.abs()
            y.register_hook(lambda g: g * g * scale)
            return y * 3

        return inner(x * 2)

    (row,) = explain(nested, paddle.to_tensor([2.0], stop_gradient=False))

    assert "traced" == row.runs
    assert () == compare(nested, [2.0]).differences


def test_variable_that_a_nested_function_rebinds_is_not_settled():
    """A hook that rebinds what another hook reads keeps that one in Python."""

    def nested(x):
        def inner(y):
            scale = 2.0

            def rebind(g):
                nonlocal scale
                scale = scale + 1

            y.register_hook(rebind)
            y.register_hook(lambda g: g * scale)
            return y * 3

        return inner(x * 2)

    rows = explain(nested, paddle.to_tensor([2.0], stop_gradient=False))

    assert ["callback", "callback"] == [row.runs for row in rows]
    assert () == compare(nested, [2.0]).differences


def test_hook_fires_in_a_program_with_a_branch_on_a_tensor():
    """The operations inside a branch do not count as those of the block that the hook is in."""

    def branching(x, log):
        y = paddle.matmul(x, x, transpose_y=True)
        shifted = x
        if x.mean() > 0.25:
            shifted = x + 0.25
        y.register_hook(lambda g: log.append(g.tolist()))
        y.register_hook(lambda g: g * g)
        z = y[:, 1]
        ratio = 0.5 / (z * z + 1.0)
        return ratio * ratio + shifted.sum()

    x = [[-1.0, -0.5, 0.75], [0.25, -0.5, -0.75]]
    report = compare(branching, x, rounds=2)

    assert () == report.differences
    assert 2 == len(report.ast.log)


@pytest.mark.filterwarnings("ignore:Return results has maybe unbound")  # of the branch itself
def test_hook_on_an_input_that_uses_a_value_of_a_branch_is_refused():
    """The value is no output of the `if`; Paddle's own words would not lead to the hook."""

    def capturing(x, y):
        if y.mean() > 0.2:
            doubled = paddle.concat([x, x])
            y.register_hook(lambda g: g * doubled.sum())
        return y * 2

    inputs = [paddle.to_tensor([1.0], stop_gradient=False) for _ in range(2)]
    with pytest.raises(UnsupportedHookError, match="must be visible where its tensor was made"):
        paddle.jit.to_static(capturing, full_graph=True)(*inputs)


def test_parts_of_a_split_are_reached_when_their_turn_comes():
    """To eager mode a split is one operation, also where backward starts from one of its parts."""

    def parts(x, log):
        (row,) = paddle.unbind(x, axis=0)
        total = row.sum()
        first, _ = paddle.split(row, [1, -1])
        total.register_hook(lambda g: log.append(("total", g.tolist())))
        first.register_hook(lambda g: log.append(("first", g.tolist())))
        return first, total

    report = compare(parts, [[1.0, 2.0]])

    assert () == report.differences
    assert ["first", "total"] == [name for name, _ in report.ast.log]


@pytest.mark.parametrize("is_input", [True, False])
def test_hook_on_a_tensor_that_an_if_hands_through_is_refused(is_input):
    """In eager mode it is the tensor from before the `if`, whose other uses the hook sees too."""

    def handing(x):
        y = x if is_input else x * 2
        other = y.sum()
        if x.mean() > 0.25:
            y = x * x
        y.register_hook(lambda g: g * g)
        return y, other

    x = paddle.to_tensor([0.125], stop_gradient=False)
    with pytest.raises(UnsupportedHookError, match="must be a tensor of its own"):
        paddle.jit.to_static(handing, full_graph=True)(x)


@pytest.mark.parametrize("value", [0.125, 0.5])
def test_hook_on_a_tensor_that_only_an_if_uses_is_right(value):
    """What the branches and the condition alone use is used nowhere else when the hook fires."""

    def handing(x):
        y = x * 2
        if y.mean() > 0.5:
            y = y * y
        y.register_hook(lambda g: g * g)
        return y * 3

    assert () == compare(handing, [value]).differences


def test_variable_that_a_nested_function_rebinds_for_itself_is_settled():
    """It is settled when that function has returned: `@traced` is no lie."""

    def nested(x):
        def inner(y):
            @traced
            def hook(g):
                return g * g * y

            y.register_hook(hook)
            y = y * 2
            return y

        return inner(x * 2)

    assert () == compare(nested, [3.0]).differences


@pytest.mark.filterwarnings("ignore:Return results has maybe unbound")  # of the branch itself
def test_traced_hook_that_reads_what_its_branch_assigns_later_is_refused():
    """The error names the variable, and does not doubt that the body could be traced."""

    def capturing(x):
        y = x * 2
        if x.mean() > 0.25:

            @traced
            def hook(g):
                return g * later

            y.register_hook(hook)
            later = x * 3
        return y * 3

    x = paddle.to_tensor([0.5], stop_gradient=False)
    with pytest.raises(UnsupportedHookError, match="'later' must be assigned in the branch"):
        paddle.jit.to_static(capturing, full_graph=True)(x)


@pytest.mark.parametrize("use", [lambda z: z, lambda z: z * z], ids=["returned", "used"])
def test_hook_on_what_a_branch_assigned_is_not_called_for_another_variable(use):
    """The results of an `if` on a tensor are not siblings, as those of a split are."""

    def branching(x, log):
        y = x * 2
        z = x * 3
        if x.mean() > 0.25:
            y = x * x
            z = x + 1
        y.register_hook(lambda g: log.append(g.tolist()))
        return use(z)

    report = compare(branching, [0.5], rounds=2)
    assert () == report.differences
    assert [] == report.static.log


@pytest.mark.parametrize("shape", [[1, 3], [3, 1], [-1, 3]], ids=str)
def test_reshaping_to_the_same_shape_hands_the_tensor_through(shape):
    """In eager mode it returns its operand, so that a hook on one is a hook on the other."""

    def reshaping(x):
        y = x * x
        z = paddle.reshape(y, shape)
        z.register_hook(lambda g: g * g)
        return y * 2 + paddle.reshape(z, [1, 3]) * 3

    report = compare(reshaping, [[1.0, 2.0, 3.0]], modes=("eager", "ast", "sot"))
    assert () == report.differences
    factor = 25.0 if shape == [1, 3] else 2.0 + 9.0
    assert [[2 * factor, 4 * factor, 6 * factor]] == report.sot.gradients["x0"].tolist()


@pytest.mark.filterwarnings("ignore:Find variable")  # Paddle's advice against `log.append`
def test_hook_in_a_branch_on_what_nobody_uses_is_not_called():
    """The zeros that a variable of an `if` gets from the builder do not reach hooks inside it."""

    def branching(x, log):
        z = x * 2
        if x.mean() > 0.25:
            x = x * 3
            x.register_hook(lambda g: g - 1)
            x.register_hook(lambda g: log.append(g.tolist()))
        else:
            z = x * x
        return z * z

    report = compare(branching, [0.5], rounds=2)
    assert () == report.differences
    assert [] == report.static.log


def test_operation_waits_for_the_last_of_its_outputs():
    """Backward starts at the outputs in turn; a split is reached when its last part has been."""
    log = []

    def splitting(x):
        y = paddle.tanh(x)
        y.register_hook(lambda g: log.append("y"))
        a, b, c = paddle.split(x, 3)
        a.register_hook(lambda g: log.append("a"))
        return c, y, b

    def called(function):
        log.clear()
        x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
        paddle.add_n([part.sum() for part in function(x)]).backward()
        return list(log)

    assert ["y", "a"] == called(splitting)
    assert ["y", "a"] == called(paddle.jit.to_static(splitting, full_graph=True))
