"""The fuzzer: a small share of its programs, and whether it would see and shrink a failure."""

from __future__ import annotations

import pytest

from tests.fuzz.children import Child
from tests.fuzz.generator import generate
from tests.fuzz.judge import FAILURES
from tests.fuzz.lines import count, hook_line, line, source_of, without_hooks
from tests.fuzz.shrinker import shrink

SHARE = 40  # programs; about ten a second
ENOUGH = 15  # programs in which a wrong design shows


def test_share_of_the_programs_has_no_failure():
    """The static graph does what eager mode does, or Paddle alone is wrong, or it says no."""
    with Child("ast") as child:
        verdicts = {index: child.judge(f"test:{index}") for index in range(SHARE)}

    assert {} == {i: found for i, found in verdicts.items() if found.kind in FAILURES}
    assert SHARE * 0.8 < [found.kind for found in verdicts.values()].count("same")


@pytest.mark.parametrize("mutant", ["fires-per-use", "frozen-state", "captures-early"])
def test_wrong_design_is_found(mutant: str):
    """A deliberately wrong design fails a program within the first few."""
    with Child("ast", mutant) as child:
        kinds = {child.judge(f"test:{index}").kind for index in range(ENOUGH)}

    assert "mismatch" in kinds


def test_program_of_a_seed_is_always_the_same():
    """A failure can be found again by its seed."""
    assert source_of(generate("0:7")) == source_of(generate("0:7"))
    assert source_of(generate("0:7")) != source_of(generate("0:8"))


def test_unhooked_twin_has_no_hook():
    """The control of a program is the program without any line that a hook needs."""
    twins = [source_of(without_hooks(generate(f"test:{index}"))) for index in range(50)]

    assert [] == [twin for twin in twins if "register_hook" in twin or "(g)" in twin]


def killing(is_crash: bool):
    """Return a program whose hook ends the process, or never ends."""
    body = "import os; os.abort()" if is_crash else "while True: pass"
    return (
        line("import paddle"),
        line("LOG, STATIC = [], []"),
        hook_line("def h(g):", hook_line("if STATIC:", hook_line(body))),
        line("def model(x):", line("y = x * 2"), hook_line("y.register_hook(h)"), line("return y")),
        line(
            "def session(convert):",
            line("STATIC.extend([1] if convert(model) is not model else [])"),
            line("x = paddle.to_tensor([1.0], stop_gradient=False)"),
            line("convert(model)(x).sum().backward()"),
            line("return [x.grad]"),
        ),
    )


def test_crash_and_hang_are_verdicts(monkeypatch: pytest.MonkeyPatch):
    """What kills its process, or does not end, is found; the next program gets a new process."""
    monkeypatch.setattr("tests.fuzz.children.SECONDS", 5)
    with Child("ast") as child:
        kinds = [child.judge(work).kind for work in (killing(True), killing(False), "test:0")]

    assert ["crash", "hang", "same"] == kinds


def test_failure_is_shrunk():
    """What is left of a failing program is what the failure needs."""
    program = generate("test:0")
    noise = count(program)
    small = shrink((*program, line("y = 1"), line("if y:", line("fail(y)"))), _fails)

    assert 10 < noise
    assert "fail(y)\n" == source_of(small)


def _fails(candidate) -> bool:
    return "fail(y)" in source_of(candidate)
