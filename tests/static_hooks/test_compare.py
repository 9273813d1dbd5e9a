"""`compare()`: what it records, what it calls a difference, and that it leaves no trace."""

from __future__ import annotations

import os

import numpy as np
import paddle
import pytest
from paddle import nn
from static_hooks.compare import Report, compare, same
from static_hooks.records import Array, Run

# Paddle warns of its own accord while it traces.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
]


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def hooked(x):
    """Double, hook, triple."""
    y = 2 * x
    y.register_hook(square)
    return 3 * y


def logged(x, log):
    """Double, log the gradient, triple."""
    y = 2 * x
    y.register_hook(lambda g: log.append(g.item()))
    return 3 * y


def wrong_in_paddle(x):
    """Use a form that Paddle's AST mode differentiates wrongly, with no hook at all."""
    if x.sum() > 0:
        y = x + 4
        z = y**2
    else:
        y = x * 1
        z = y
    return z


class Net(nn.Layer):
    """A Layer that registers a hook on its weight when it is made."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(1, 1, weight_attr=nn.initializer.Constant(0.5), bias_attr=False)
        self.fc.weight.register_hook(square)

    def forward(self, x):
        """Apply the linear layer."""
        return 3 * self.fc(x)


def test_eager_run_records_outputs_gradients_and_calls():
    """A run holds the outputs, the gradients by name and the hook calls."""
    run = compare(hooked, [1.0, 2.0], modes=("eager",)).eager
    assert [[6.0, 12.0]] == [output.tolist() for output in run.outputs]
    assert [18.0, 18.0] == run.gradients["x0"].tolist()
    assert [("square", [3.0, 3.0])] == run.calls
    assert run.error is None


@pytest.mark.usefixtures("hooks")
@pytest.mark.parametrize("mode", ["ast", "program"])
def test_static_modes_are_the_same_with_hooks_enabled(mode):
    """A hooked function does in a static graph what it does eagerly."""
    report = compare(hooked, [1.0], modes=("eager", mode))
    assert () == report.differences
    assert [("square", [3.0])] == report.static.calls


def test_an_error_is_a_result_and_a_difference():
    """Paddle alone refuses the hook: the report says so, with type and first line."""
    report = compare(hooked, [1.0])
    assert not report.same
    (difference,) = report.differences
    assert difference.startswith("ast: error: must be None but got AssertionError: 'register_hook'")


def test_a_wrong_gradient_is_named_with_both_values():
    """The sentence of a difference has the mode, the name, and what must be."""
    report = compare(wrong_in_paddle, [2.0])
    assert ("ast: gradient of x0: must be [12.] but got [0.]",) == report.differences


def test_rows_have_one_line_for_each_fact():
    """Rows are (what, eager, static, difference), also for what is equal."""
    rows = compare(wrong_in_paddle, [2.0]).rows()
    assert (
        ("output 0", "[36.]", "[36.]", ""),
        ("gradient of x0", "[12.]", "[0.]", "differs"),
        ("calls", "[]", "[]", ""),
        ("log", "[]", "[]", ""),
    ) == rows


def test_rounds_accumulate_gradients_and_log():
    """Three rounds add up three gradients, and the log has three entries."""
    run = compare(logged, [1.0], modes=("eager",), rounds=3).eager
    assert [18.0] == run.gradients["x0"].tolist()
    assert [3.0, 3.0, 3.0] == run.log


@pytest.mark.usefixtures("hooks")
def test_each_mode_has_a_log_of_its_own():
    """No entry of one mode appears in another."""
    report = compare(logged, [1.0], modes=("eager", "ast", "program"))
    assert [[3.0]] * 3 == [run.log for run in report.runs.values()]


@pytest.mark.usefixtures("hooks")
def test_a_class_is_made_anew_for_each_run():
    """Hooks of `__init__` work, and no gradient accumulates from mode to mode."""
    report = compare(Net, [[2.0]])
    assert () == report.differences
    assert [[36.0]] == report.ast.gradients["fc.weight"].tolist()


def test_a_layer_is_copied():
    """The caller's own Layer gets no gradient."""
    layer = nn.Linear(1, 1)
    assert compare(layer, [[2.0]]).same
    assert layer.weight.grad is None


def test_a_factory_is_called_for_each_run():
    """A function of no arguments, given inputs, makes the function."""
    made = []

    def factory():
        made.append(len(made))
        return lambda x: x * 2

    compare(factory, [1.0], modes=("eager",))
    assert [0, 1] == made  # the run and the watched run


def test_sot_counts_graphs_and_breaks():
    """A `print` breaks a frame into two graphs; without it there is one."""

    def whole(x):
        return paddle.tanh(2 * x)

    def broken(x):
        y = 2 * x
        print(end="")  # noqa: T201
        return paddle.tanh(y)

    found = [compare(function, [1.0], modes=("sot",)).sot for function in (whole, broken)]
    assert [(1, 0), (2, 1)] == [(run.graphs, run.breaks) for run in found]


def test_sot_settings_are_put_back():
    """What the caller had set for SOT is as it was."""
    before = os.environ.get("MIN_GRAPH_SIZE")
    os.environ["MIN_GRAPH_SIZE"] = "7"
    try:
        compare(wrong_in_paddle, [2.0], modes=("sot",))
        assert "7" == os.environ["MIN_GRAPH_SIZE"]
    finally:
        os.environ.pop("MIN_GRAPH_SIZE")
        if before is not None:
            os.environ["MIN_GRAPH_SIZE"] = before


def test_bfloat16_is_compared_as_numbers():
    """bfloat16 results are widened, and their dtype is kept."""

    def function(x):
        return x.astype("bfloat16") * 1.5

    report = compare(function, [1.0, 3.0], modes=("eager", "program"))
    assert () == report.differences
    assert ("bfloat16", [1.5, 4.5]) == (
        report.program.outputs[0].dtype,
        report.program.outputs[0].tolist(),
    )


def test_sparse_gradients_are_made_dense():
    """The rows of a sparse gradient are added up in their places."""

    def factory():
        return nn.Embedding(3, 1, sparse=True)

    run = compare(factory, [1, 1, 2], modes=("eager",)).eager
    assert [[0.0], [2.0], [1.0]] == run.gradients["weight"].tolist()


def test_integers_have_no_gradient():
    """Only floating-point inputs get gradients; other arguments are passed as they are."""

    def function(x, index, factor):
        return paddle.gather(x, index) * factor

    run = compare(function, [1.0, 2.0], [1], 3.0, modes=("eager",)).eager
    assert {"x0"} == run.gradients.keys()
    assert [0.0, 3.0] == run.gradients["x0"].tolist()


@pytest.mark.usefixtures("hooks")
def test_removed_hooks_are_not_seen():
    """A handle removes the hook together with what watches it."""

    def function(x):
        y = 2 * x
        handle = y.register_hook(square)
        handle.remove()
        return 3 * y

    report = compare(function, [1.0], modes=("eager", "ast", "program"))
    assert [[], [], []] == [run.calls for run in report.runs.values()]


def test_watching_leaves_no_trace():
    """Both `register_hook`s are the same objects afterwards."""
    before = (paddle.Tensor.register_hook, paddle.pir.Value.register_hook)
    compare(hooked, [1.0])
    assert before == (paddle.Tensor.register_hook, paddle.pir.Value.register_hook)


def test_the_random_state_is_put_back():
    """The caller's random numbers go on as if nothing had been."""
    paddle.seed(7)
    expected = paddle.rand([2]).tolist()
    paddle.seed(7)
    compare(lambda x: nn.functional.dropout(x), [1.0], modes=("eager",))
    assert expected == paddle.rand([2]).tolist()


def test_every_run_starts_from_the_seed():
    """Dropout drops the same elements in each mode."""

    def function(x):
        return nn.functional.dropout(x, 0.5)

    assert compare(function, [1.0] * 16).same


def test_unknown_mode_is_refused():
    """The message says what the modes are."""
    message = "modes must be among ('eager', 'ast', 'sot', 'program') but got 'jit'"
    with pytest.raises(ValueError, match="compare: modes") as caught:
        compare(hooked, [1.0], modes=("jit",))
    assert message in str(caught.value)


def test_static_needs_one_static_mode():
    """`report.static` refuses to choose between two."""
    report = Report({mode: Run(mode) for mode in ("eager", "ast", "sot")})
    with pytest.raises(ValueError, match=r"one static mode but got \['ast', 'sot'\]"):
        _ = report.static


def test_a_mode_that_was_not_run_is_named():
    """Asking for a run that is not there says which there are."""
    report = Report({"eager": Run("eager")})
    with pytest.raises(AttributeError, match=r"must include 'ast' but got \['eager'\]"):
        _ = report.ast


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (Array(np.float32([1.0, 2.000001]), "float32"), True),
        (Array(np.float32([1.0, 2.001]), "float32"), False),
        (Array(np.float64([1.0, 2.0]), "float64"), False),
        (Array(np.float32([[1.0, 2.0]]), "float32"), False),
        (Array(np.float32([1.0, np.nan]), "float32"), False),
        (None, False),
    ],
)
def test_arrays_are_compared_with_dtype_and_shape(got, expected):
    """Near enough is the same; another dtype, another shape or a NaN is not."""
    assert expected is same(Array(np.float32([1.0, 2.0]), "float32"), got)


def test_nan_is_never_the_same():
    """A NaN where a NaN was is reported, so that nobody overlooks it."""
    array = Array(np.float32([np.nan]), "float32")
    assert not same(array, array)


def test_repr_lists_the_differences():
    """A report reads well where it is printed."""
    runs = {"eager": Run("eager", log=[1]), "ast": Run("ast", log=[2])}
    expected = "Report(eager, ast: 1 differences)\n  ast: log: must be [1] but got [2]"
    assert expected == repr(Report(runs))
    assert "Report(eager: same)" == repr(Report({"eager": Run("eager")}))


def test_report_has_no_other_attributes():
    """A misspelt attribute is an AttributeError, also for what probes with `hasattr`."""
    assert not hasattr(Report({"eager": Run("eager")}), "graident")
