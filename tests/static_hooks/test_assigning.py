"""Attributes and globals that a traced function assigns and a hook reads."""

import paddle
import pytest
from static_hooks import UnsupportedHookError, compare

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
]
SCALE = 2.0


class Assigning(paddle.nn.Layer):
    """Assigns attributes in its forward, and hooks with a method."""

    def hook(self, g):
        """Count the calls of this run in two ways."""
        self.calls += 1
        self.seen.append(self.calls)
        return g * g * (self.calls + len(self.seen))

    def forward(self, x):
        """Hook one tensor twice."""
        self.calls, self.seen = 0, []
        y = x * 2
        y.register_hook(self.hook)
        y.register_hook(self.hook)
        return y * 3


class Counting(paddle.nn.Layer):
    """Counts its runs."""

    def __init__(self):
        super().__init__()
        self.runs = 0

    def forward(self, x):
        """Scale the gradient by the number of the run."""
        self.runs += 1
        y = x * 2
        y.register_hook(lambda g: g * self.runs)
        return y * 3


class Keeping(paddle.nn.Layer):
    """Keeps what can't be copied for each run: an object of the user's in a list."""

    def forward(self, x):
        """Scale the gradient by what was kept."""
        self.kept = [[2.0]]
        y = x * 2
        y.register_hook(lambda g: g * self.kept[0][0])
        return y * 3


class Sometimes(paddle.nn.Layer):
    """Assigns on a condition."""

    def forward(self, x):
        """Scale the gradient by an attribute."""
        if self.training:
            self.factor = 3.0
        y = x * 2
        y.register_hook(lambda g: g * self.factor)
        return y * 3


def test_attribute_is_assigned_in_each_run() -> None:
    """What forward assigns is new in each run, a number and a list alike."""
    report = compare(Assigning(), [1.0], rounds=3)

    assert () == report.differences
    # 3 squared and times 2; that squared and times 4; times 2: in each of three rounds.
    assert [3 * 18.0**2 * 4 * 2] == report.ast.gradients["x0"].tolist()


@pytest.mark.parametrize(
    ("model", "name"), [(Counting(), "runs"), (Keeping(), "kept"), (Sometimes(), "factor")]
)
def test_attribute_that_a_run_can_not_assign_is_refused(model: paddle.nn.Layer, name: str) -> None:
    """A count of runs stands still, as tracing runs the line once; a nest has no copy."""
    x = paddle.to_tensor([1.0], stop_gradient=False)

    with pytest.raises(UnsupportedHookError, match=f"assigns the attribute '{name}'"):
        paddle.jit.to_static(model, full_graph=True)(x)


class Lazy(paddle.nn.Layer):
    """Makes an attribute in its first run, in one of two ways."""

    def __init__(self, has_none: bool):
        super().__init__()
        self.has_none = has_none
        if has_none:
            self.first = None

    def forward(self, x):
        """Scale the gradient by what the first run made."""
        if self.has_none:
            if self.first is None:
                self.first = 2.0
        elif not hasattr(self, "second"):
            self.second = 2.0
        y = x * 2
        y.register_hook(lambda g: g * (self.first if self.has_none else self.second))
        return y * 3


@pytest.mark.parametrize("has_none", [True, False])
@pytest.mark.parametrize("full_graph", [None, True])
def test_attribute_of_the_first_run_is_left_alone(has_none: bool, full_graph: bool | None) -> None:
    """It is not assigned in later runs, so that what the user assigns stays."""
    model = Lazy(has_none)
    run = model if full_graph is None else paddle.jit.to_static(model, full_graph=True)
    x = paddle.to_tensor([1.0], stop_gradient=False)
    run(x).backward()
    model.first = model.second = 5.0
    run(x).backward()

    assert [3 * 2 * (2.0 + 5.0)] == x.grad.tolist()


def test_count_that_no_hook_reads_is_left_alone() -> None:
    """A method of a model that counts its runs is a hook like any other."""

    class Unread(Counting):
        def forward(self, x):
            self.runs += 1
            y = x * 2
            y.register_hook(self.hook)
            return y * 3

        def hook(self, g):
            self.last = g
            return g * g

    assert () == compare(Unread(), [1.0], rounds=2).differences


def test_global_that_the_function_assigns_is_refused() -> None:
    """A traced function has a copy of its module's globals, which the hook does not read."""

    def assigning(x):
        global SCALE
        y = x * 2
        SCALE = 5.0
        y.register_hook(lambda g: g * SCALE)
        return y * 3

    x = paddle.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(UnsupportedHookError, match="assigns the global 'SCALE'"):
        paddle.jit.to_static(assigning, full_graph=True)(x)


def test_attribute_that_holds_a_value_is_left_alone() -> None:
    """The run fills it in for the hook."""

    class Holding(paddle.nn.Layer):
        def forward(self, x):
            self.features = x * x
            y = x * 2
            y.register_hook(lambda g: g * self.features)
            return y * 3

    report = compare(Holding(), [3.0], rounds=2)

    assert () == report.differences
    assert [2 * 3.0 * 9.0 * 2.0] == report.ast.gradients["x0"].tolist()
