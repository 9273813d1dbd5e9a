"""The corpus is complete, every entry passes in every mode, and a wrong one would not."""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path

import paddle
import pytest
from static_hooks import __main__ as command
from static_hooks import conformance, corpus
from static_hooks.corpus import Case, Safer, Scenario

# What Paddle says, with or without hooks, about code as users write it.
REMARKS = (
    "Tensor do not have .place. interface",
    "Find variable",
    "Return results has maybe unbound local variable",
    "In static graph mode",
    "paddle.grad has unsupported parameter",
    "When training, we now always track global mean",
    "(amp_guard|AmpScaler) can only be enabled",
)
pytestmark = [pytest.mark.filterwarnings(f"ignore:{remark}") for remark in REMARKS]

ALL = list(conformance.entries())
RULES = [rule for group in corpus.RULES.values() for rule in group]


@pytest.mark.parametrize(
    ("rule", "entry", "mode"), ALL, ids=[f"{rule}-{entry.name}-{mode}" for rule, entry, mode in ALL]
)
def test_entry(rule, entry, mode):
    """The entry does in this mode what is right."""
    outcome = conformance.judge(rule, entry, mode)
    assert outcome.verdict not in conformance.FAILURES, outcome.detail


def test_every_rule_has_a_file_and_every_file_a_rule():
    """No rule is without cases, and no file without a rule."""
    folder = Path(corpus.__file__).parent
    files = {path.stem.replace("_", "-") for path in folder.glob("*.py")} - {"--init--"}
    assert files == set(RULES)


def test_the_corpus_is_large():
    """A corpus that shrinks unnoticed would prove less and less."""
    assert len({(rule, entry.name) for rule, entry, _ in ALL}) >= 290


@pytest.mark.parametrize("rule", RULES)
def test_entries_explain_themselves(rule):
    """Names are unique within a rule, and each function says in one sentence what it is about."""
    entries = corpus.load(rule)
    assert len(entries) == len({entry.name for entry in entries})
    for entry in entries:
        assert inspect.getdoc(entry.function), entry.name


def test_every_entry_is_run_in_some_mode():
    """An entry that applies to no mode would prove nothing."""
    applying = {(rule, entry.name) for rule, entry, mode in ALL if mode not in entry.not_applicable}
    assert {(rule, entry.name) for rule, entry, _ in ALL} == applying


def doubled(x):
    """Double, hook with a square, triple."""
    y = 2 * x
    y.register_hook(lambda g: g * g)
    return 3 * y


def unhooked_power(x):
    """A form that Paddle's AST mode differentiates wrongly."""
    if x.sum() > 0:
        y = x + 4
        z = y**2
    else:
        y = x * 1
        z = y
    return z


def raising(x):
    """Fail."""
    raise ValueError("no")


def dying(mode):
    """End the process at once, as a crash does."""
    os._exit(3)


def judged(entry, mode="ast"):
    """Judge an entry that is not in the corpus."""
    return conformance.judge("accumulated-gradient", entry, mode)


def test_a_right_case_is_the_same():
    """Eager mode, the static mode and the literals agree."""
    assert "same" == judged(Case(doubled, ([1.0],), {"x0": [18.0]})).verdict


@pytest.mark.parametrize("mode", ["eager", "ast", "program"])
def test_a_wrong_literal_is_a_mismatch(mode):
    """A literal that eager mode contradicts fails in every mode."""
    outcome = judged(Case(doubled, ([1.0],), {"x0": [6.0]}), mode)
    assert ("mismatch", "gradient of x0: must be [6.0] but got [18.]") == (
        outcome.verdict,
        outcome.detail,
    )


def test_wrong_calls_are_a_mismatch():
    """The log of calls is part of the answer."""
    outcome = judged(Case(doubled, ([1.0],), calls=[("<lambda>", [4.0])]))
    assert "mismatch" == outcome.verdict
    assert "calls: must be [('<lambda>', [4.0])] but got [('<lambda>', [3.0])]" == outcome.detail


def test_an_unexpected_exception_is_an_error():
    """A case that raises is an error, with the exception's words."""
    outcome = judged(Case(raising, ([1.0],), {"x0": [1.0]}), "eager")
    assert ("error", "error: must be None but got ValueError: no") == (
        outcome.verdict,
        outcome.detail,
    )


def test_what_paddle_gets_wrong_alone_is_base_wrong():
    """A case that differs as its control without a hook does is Paddle's fault."""
    outcome = judged(Case(unhooked_power, ([2.0],), {"x0": [12.0]}, control=unhooked_power))
    assert "base-wrong" == outcome.verdict
    assert "gradient of x0: must be [12.] but got [0.]" in outcome.detail


def test_a_control_that_works_excuses_nothing():
    """With a control that is right, the case is a mismatch."""
    outcome = judged(Case(unhooked_power, ([2.0],), {"x0": [12.0]}, control=lambda x: x * x))
    assert "mismatch" == outcome.verdict


def test_safer_means_what_is_written_down():
    """Where eager mode is wrong, the static mode must do what `safer` says."""
    right = Safer("for the test", gradients={"x0": [18.0]})
    wrong = Safer("for the test", gradients={"x0": [5.0]})
    assert "safer" == judged(Case(doubled, ([1.0],), safer=right)).verdict
    assert "mismatch" == judged(Case(doubled, ([1.0],), safer=wrong)).verdict


def test_what_does_not_apply_says_why():
    """`n/a` carries the reason."""
    outcome = judged(Case(doubled, ([1.0],), not_applicable={"ast": "for the test"}))
    assert ("n/a", "for the test") == (outcome.verdict, outcome.detail)


def test_scenarios_are_compared_too():
    """A scenario's result must be the literal, or that of eager mode where there is none."""
    scenario = Scenario(lambda mode: [1.0, mode == "ast"], [1.0, False])
    assert "same" == judged(scenario, "eager").verdict
    assert "mismatch" == judged(scenario, "ast").verdict
    assert "mismatch" == judged(Scenario(lambda mode: mode), "ast").verdict


def test_a_dead_process_is_what_is_expected_of_eager_mode_alone(monkeypatch):
    """A crash in a child is as written down for eager mode, and an error for a static mode."""
    monkeypatch.setattr(conformance, "_child", lambda rule, name, modes: "the process died")
    scenario = Scenario(dying, [], safer=Safer("for the test", result=[]), crashes=True)
    assert "same" == judged(scenario, "eager").verdict
    assert "error" == judged(scenario, "ast").verdict


def test_the_command_prints_the_matrix_and_counts(capsys, tmp_path):
    """The command ends with the counts and writes the outcomes."""
    file = tmp_path / "outcomes.json"
    words = ["conformance", "--rule", "upstream-only", "--mode", "eager", "--mode", "ast"]
    assert 0 == command.main([*words, "--json", str(file)])
    assert [
        "rule           eager   ast",
        "upstream-only  4 same  4 same",
        "8 same, 0 safer, 0 base-wrong, 0 n/a, 0 mismatch, 0 error",
    ] == capsys.readouterr().out.splitlines()
    document = json.loads(file.read_text())
    assert {"same": 8} == document["counts"]
    assert paddle.__version__ == document["paddle"]
    assert 8 == len(document["outcomes"])


def test_the_command_fails_when_an_entry_does(capsys, monkeypatch):
    """One mismatch makes the exit status 1, and is explained."""
    wrong = Case(doubled, ([1.0],), {"x0": [6.0]})
    monkeypatch.setattr(corpus, "load", lambda rule: [wrong])
    assert 1 == command.main(["conformance", "--rule", "upstream-only", "--mode", "eager"])
    assert (
        "mismatch: upstream-only doubled (eager): gradient of x0: must be [6.0] but got [18.]"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rule", "no-such-rule"], "corpus: rule must be one of accumulated-gradient, "),
        (["--rule", "container", "--mode", "jit"], "conformance: mode must be one of eager, ast"),
        (["--rule", "container", "--entry", "none"], "conformance: entry must be one of item_of"),
    ],
)
def test_the_command_refuses_what_it_does_not_know(words, message, capsys):
    """An unknown rule, mode or entry is exit status 2 and one sentence."""
    with pytest.raises(SystemExit, match="2"):
        command.main(["conformance", *words])
    assert message in capsys.readouterr().err


def test_explain_prints_one_row_a_hook(capsys):
    """The command explains a function that it imports."""
    target = "static_hooks.corpus.upstream_only:two_hooked_siblings"
    assert 0 == command.main(["explain", target, "1"])
    assert 2 == capsys.readouterr().out.count("upstream_only.py:")


def test_explain_says_what_a_target_is(capsys):
    """A target that is not there is exit status 2 and one sentence."""
    with pytest.raises(SystemExit, match="2"):
        command.main(["explain", "no_such_module:function", "1"])
    assert "explain: target must be module:name" in capsys.readouterr().err


def test_doctor_approves_of_this_paddle(capsys):
    """The command says that every surface is as expected."""
    assert 0 == command.main(["doctor"])
    assert "surfaces are as expected" in capsys.readouterr().out


def test_doctor_says_what_is_wrong(capsys, monkeypatch):
    """On a Paddle that the package does not know, the command fails with the reason."""
    monkeypatch.delattr(paddle.pir.Value, "register_hook")
    assert 1 == command.main(["doctor"])
    assert "register_hook must exist" in capsys.readouterr().out
