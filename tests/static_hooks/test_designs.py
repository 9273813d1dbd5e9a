"""Each design of the comparison does what it is described to do, right or wrong."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import paddle
import pytest
from paddle.autograd import ir_backward
from paddle.jit.dy2static.pir_partial_program import PartialProgramLayer
from static_hooks import bodies, corpus, designs, firing, patches, registration
from static_hooks.designs import DESIGNS, run
from static_hooks.drawing import draw

pytestmark = pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface")
OWNERS = [
    (bodies, "decide"),
    (firing.Walk, "_call_back"),
    (ir_backward, "calc_gradient_helper"),
    (PartialProgramLayer, "_verify_program"),
    (patches, "NoReordering"),
    (registration, "record"),
]


def square(gradient: Any) -> Any:
    """Square the gradient."""
    return gradient * gradient


def add_one(gradient: Any) -> Any:
    """Add one to the gradient."""
    return gradient + 1


def before_both_uses(x: Any) -> Any:
    """Every design does this right."""
    y = 2 * x
    y.register_hook(square)
    return 3 * y + 4 * y


def between_two_uses(x: Any) -> Any:
    """The first use comes before the hook."""
    y = 2 * x
    a = 3 * y
    y.register_hook(square)
    return a + 4 * y


def two_hooks(x: Any) -> Any:
    """The order of the hooks shows."""
    y = 2 * x
    y.register_hook(add_one)
    y.register_hook(square)
    return 3 * y


def rebound(x: Any) -> Any:
    """The name that is hooked meant another tensor before."""
    y = 3 * x
    x = y + 1
    z = x * x
    x.register_hook(square)
    return z


def no_hook(x: Any, use_hook: bool = False) -> Any:
    """No hook is registered at all."""
    x = 3 * x + 1
    if use_hook:
        x.register_hook(square)
    else:
        x = x * 10
    return x * x


def in_an_unhooked_branch(x: Any) -> Any:
    """The branch that registers does not run."""
    y = 2 * x
    if x.sum() < 0:
        y.register_hook(square)
    return 3 * y


def in_a_branch(x: Any) -> Any:
    """The branch that registers runs."""
    y = 2 * x
    if x.sum() > 0:
        y.register_hook(square)
    return 3 * y


RIGHT = {
    before_both_uses: 98.0,
    between_two_uses: 98.0,
    two_hooks: 32.0,
    rebound: 192.0,
    no_hook: 2400.0,
    in_an_unhooked_branch: 6.0,
    in_a_branch: 18.0,
}
OTHERWISE = {
    ("callback", between_two_uses): 38.0,
    ("callback", two_hooks): 20.0,
    ("callback", rebound): 24.0,
    ("callback", in_a_branch): 6.0,
    ("reordering", rebound): 576.0,
    ("reordering", no_hook): 1860.0,
    ("reordering", in_an_unhooked_branch): "NameError",
    ("reordering", in_a_branch): "NameError",
    ("identity", between_two_uses): 38.0,
    ("identity", two_hooks): 20.0,
    ("identity", rebound): 24.0,
    ("identity", in_a_branch): 6.0,
    ("replaced-uses", in_an_unhooked_branch): "UnsupportedHookError",
    ("replaced-uses", in_a_branch): "UnsupportedHookError",
}


@pytest.mark.parametrize("function", RIGHT, ids=lambda function: function.__name__)
@pytest.mark.parametrize("name", [None, *DESIGNS], ids=str)
def test_gradient(name: str | None, function: Callable[..., Any]) -> None:
    """A design gives the input the gradient, or the error, that follows from what it does."""
    found = run(function, [1.0], design=DESIGNS[name] if name else None)
    outcome = found.error.partition(":")[0] if found.error else found.gradients["x0"].tolist()[0]
    assert OTHERWISE.get((name, function), RIGHT[function]) == outcome


@pytest.mark.parametrize("name", DESIGNS)
def test_effects(name: str) -> None:
    """A design that calls back sees effects at every backward; one that traces refuses them."""

    def appends(x: Any, log: list[float]) -> Any:
        y = 2 * x
        y.register_hook(lambda g: log.append(g.item()))
        return 3 * y

    found = run(appends, [1.0], design=DESIGNS[name], rounds=2)
    if name in ("identity", "replaced-uses"):
        assert found.error is not None
        assert "UnsupportedHookError" == found.error.partition(":")[0]
    else:
        assert [3.0, 3.0] == found.log


@pytest.mark.parametrize(
    ("name", "assigns"),
    [
        ("callback", 1),
        ("reordering", 1),
        ("identity", 1),
        ("replaced-uses", 1),
        ("accumulated", 0),
    ],
)
def test_operation_in_the_program(name: str, assigns: int) -> None:
    """An identity operation is a real operation of the forward; the proposal inserts none."""
    x = paddle.to_tensor([1.0], stop_gradient=False)
    with DESIGNS[name].enabled():
        nodes = draw(before_both_uses, x).nodes
    assert assigns == len([n for n in nodes if n.role == "forward" and n.name == "assign"])


@pytest.mark.parametrize("name", DESIGNS)
def test_restores(name: str) -> None:
    """After a design every attribute is the very object that it was."""
    before = [inspect.getattr_static(owner, attribute) for owner, attribute in OWNERS]
    with DESIGNS[name].enabled():
        pass
    after = [inspect.getattr_static(owner, attribute) for owner, attribute in OWNERS]
    assert [] == [b for a, b in zip(after, before, strict=True) if a is not b]
    assert [] == patches.replaced


def test_refused_while_enabled(hooks: None) -> None:
    """A design can't be put in force over the package's own."""
    with (
        pytest.raises(RuntimeError) as caught,
        DESIGNS["identity"].enabled(),
    ):
        pass
    assert (
        "design identity: static_hooks must be disabled first, but it is enabled; "
        "call static_hooks.disable()"
    ) == str(caught.value)


def test_cases() -> None:
    """The cases are those that eager mode does right: most of the corpus, none that crashes."""
    chosen = designs.cases()
    every = [
        entry for group in corpus.RULES.values() for rule in group for entry in corpus.load(rule)
    ]
    assert len(chosen) > len(every) / 2
    assert [] == [case.name for _, case in chosen if case.crashes or case.safer or case.control]


def test_scoreboard() -> None:
    """A scoreboard has a mark for each design and case, with what differed."""
    chosen = [pair for pair in designs.cases() if pair[1].name == "between_two_uses"]
    marks = list(designs.scoreboard(chosen))
    assert [
        ("callback", "wrong"),
        ("reordering", "right"),
        ("identity", "wrong"),
        ("replaced-uses", "right"),
        ("accumulated", "right"),
    ] == [(mark.design, mark.verdict) for mark in marks]
    assert "ast: gradient of x0: must be [162.] but got [58.]" == marks[0].detail
