"""Run the corpus in each mode and judge every entry.

A verdict is one of

- `same`: the mode did what eager mode did, and eager mode did what is written down as right;
- `safer`: the mode did what is written down as right, where eager mode is known to be wrong;
- `base-wrong`: the mode is wrong, and Paddle alone is wrong in the same way with no hook at all;
- `n/a`: the entry says nothing about the mode; the reason is given;
- `mismatch`: the mode did something else;
- `error`: the mode raised, where it should not have, or killed its process.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import paddle

from . import corpus, patches
from .compare import Report, compare, same
from .corpus import Case, Safer, Scenario
from .records import Array, Run
from .runs import MODES, compiling, told

VERDICTS = ("same", "safer", "base-wrong", "n/a", "mismatch", "error")
FAILURES = ("mismatch", "error")
_CHILD_SECONDS = 120


@dataclass(frozen=True)
class Outcome:
    """What one entry of the corpus did in one mode.

    Attributes:
        rule, name, mode: Which entry, in which mode.
        verdict: One of `VERDICTS`.
        detail: What differed, or why the entry does not apply.
        graphs, breaks: Graphs and graph breaks that SOT counted.
        seconds: How long it took.
    """

    rule: str
    name: str
    mode: str
    verdict: str
    detail: str = ""
    graphs: int | None = None
    breaks: int | None = None
    seconds: float = 0.0


def entries(
    rules: Sequence[str] = (), modes: Sequence[str] = (), names: Sequence[str] = ()
) -> list[tuple[str, Case | Scenario, str]]:
    """List (rule, entry, mode) for the given rules, modes and entry names; for all where empty.

    Raises:
        ValueError: A rule, mode or name is not known.
    """
    found = [
        (rule, entry)
        for rule in rules or itertools.chain.from_iterable(corpus.RULES.values())
        for entry in corpus.load(rule)
    ]
    _must_be_known("mode", modes, MODES)
    _must_be_known("entry", names, [entry.name for _, entry in found])
    return [
        (rule, entry, mode)
        for rule, entry in found
        if not names or entry.name in names
        for mode in modes or MODES
    ]


def _must_be_known(what: str, words: Sequence[str], known: Sequence[str]) -> None:
    for word in words:
        if word not in known:
            raise ValueError(
                f"conformance: {what} must be one of {', '.join(known)}; but got {word!r}"
            )


def judge(rule: str, entry: Case | Scenario, mode: str, isolated: bool = False) -> Outcome:
    """Run one entry in one mode.

    Args:
        rule: The rule that the entry belongs to.
        entry: The entry.
        mode: One of `MODES`.
        isolated: Whether this process may die of it; else such an entry runs in a child process.

    Returns:
        The outcome.
    """
    started = time.perf_counter()
    if mode in entry.not_applicable:
        outcome = Outcome(rule, entry.name, mode, "n/a", entry.not_applicable[mode])
    elif entry.crashes and not isolated:
        outcome = _judge_in_child(rule, entry, mode)
    else:
        verdict, detail, counts = (
            _judge_case(entry, mode) if isinstance(entry, Case) else _judge_scenario(entry, mode)
        )
        outcome = Outcome(rule, entry.name, mode, verdict, detail, **counts)
    return Outcome(**{**asdict(outcome), "seconds": round(time.perf_counter() - started, 3)})


def _judge_in_child(rule: str, entry: Case | Scenario, mode: str) -> Outcome:
    # One child for eager mode, which is expected to die, and one for all static modes together.
    modes = (
        ("eager",)
        if mode == "eager"
        else tuple(m for m in MODES if m != "eager" and m not in entry.not_applicable)
    )
    found = _child(rule, entry.name, modes)
    if isinstance(found, str) and len(modes) > 1:
        found = _child(rule, entry.name, (mode,))  # which of them was it?
    if isinstance(found, dict):
        return Outcome(**found[mode])
    if mode == "eager":
        return Outcome(rule, entry.name, mode, "same", f"{found}, as is written down")
    return Outcome(rule, entry.name, mode, "error", found)


@functools.lru_cache
def _child(rule: str, name: str, modes: tuple[str, ...]) -> dict[str, dict[str, Any]] | str:
    """Judge an entry in a process of its own: outcomes by mode, or how the process ended."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "outcomes.json"
        command = [sys.executable, "-m", "static_hooks", "conformance", "--isolated"]
        command += ["--rule", rule, "--entry", name, "--json", str(answer)]
        command += [word for mode in modes for word in ("--mode", mode)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_CHILD_SECONDS, env=environment
            )
        except subprocess.TimeoutExpired:
            return f"the process hung for {_CHILD_SECONDS} seconds"
        if answer.exists():
            outcomes = json.loads(answer.read_text())["outcomes"]
            return {outcome["mode"]: outcome for outcome in outcomes}
    return f"the process died with status {done.returncode}"


def _judge_case(case: Case, mode: str) -> tuple[str, str, dict[str, Any]]:
    run = _run(case, case.function, mode)
    counts = {"graphs": run.graphs, "breaks": run.breaks}
    if mode == "eager":
        return *_verdict("same", _wrong(case, run), run, case), counts
    if case.safer and mode in case.safer.modes:
        return *_verdict("safer", _wrong(case.safer, run), run, case.safer), counts
    eager = _run(case, case.function, "eager")
    report = Report({"eager": eager, mode: run})
    verdict, detail = _verdict("same", [*report.differences, *_wrong(case, eager)], run, case)
    if verdict != "same" and case.control:
        controls = Report({m: _run(case, case.control, m) for m in ("eager", mode)})
        if _differing(report) & _differing(controls):
            return "base-wrong", f"without the hook, {'; '.join(controls.differences)}", counts
    return verdict, detail, counts


def _run(case: Case, function: Callable[..., Any], mode: str) -> Run:
    with nullcontext() if mode == "eager" else patches.enabled():
        return compare(function, *case.inputs, modes=(mode,), rounds=case.rounds).runs[mode]


def _verdict(good: str, wrong: list[str], run: Run, expected: Case | Safer) -> tuple[str, str]:
    if not wrong:
        return good, ""
    return "error" if run.error and not expected.error else "mismatch", "; ".join(wrong)


def _differing(report: Report) -> set[str]:
    return {what for what, _, _, difference in report.rows() if difference}


def _wrong(expected: Case | Safer, run: Run) -> list[str]:
    """List what of a run is not as it is written down."""
    if not (run.error or "").startswith(expected.error or "") or bool(run.error) != bool(
        expected.error
    ):
        return [_must("error", expected.error, run.error)]
    if run.error:
        return []
    wrong = [
        _must(f"gradient of {name}", must, run.gradients.get(name))
        for name, must in (expected.gradients or {}).items()
        if not _is(must, run.gradients.get(name))
    ]
    calls = getattr(expected, "calls", None)
    if calls is not None and not same(calls, run.calls):
        wrong.append(_must("calls", calls, run.calls))
    if expected.log is not None and not same(expected.log, run.log):
        wrong.append(_must("log", expected.log, run.log))
    return wrong


def _is(must: Any, got: Array | None) -> bool:
    if must is None or got is None:
        return must is got
    return same(Array(np.asarray(must, got.values.dtype), got.dtype), got)


def _must(what: str, must: Any, got: Any) -> str:
    return f"{what}: must be {must} but got {got}"


def _judge_scenario(scenario: Scenario, mode: str) -> tuple[str, str, dict[str, Any]]:
    safer = scenario.safer if scenario.safer and mode in scenario.safer.modes else None
    got, counts = _drive(scenario.function, mode)
    must = safer.result if safer else scenario.result
    if must is None:
        must = got if mode == "eager" else _drive(scenario.function, "eager")[0]
    if same(must, got) and not isinstance(got, _Raised):
        return "safer" if safer else "same", "", counts
    if scenario.control:
        plain, static = (_drive(scenario.control, m)[0] for m in ("eager", mode))
        if not same(plain, static):
            return "base-wrong", f"without the hook, {_must('result', plain, static)}", counts
    verdict = "error" if isinstance(got, _Raised) else "mismatch"
    return verdict, _must("result", must, got), counts


class _Raised(str):
    """The exception that ended a scenario: a result that equals no other."""


def _drive(function: Callable[[str], Any], mode: str) -> tuple[Any, dict[str, Any]]:
    counts: dict[str, Any] = {}
    with ExitStack() as stack:
        if mode != "eager":
            stack.enter_context(patches.enabled())
        if mode == "sot":
            counts = stack.enter_context(compiling())
        try:
            return function(mode), counts
        except Exception as error:
            return _Raised(told(error)), counts


def matrix(outcomes: list[Outcome]) -> str:
    """Draw the outcomes as a table: a row for each rule, a column for each mode."""
    modes = [mode for mode in MODES if any(outcome.mode == mode for outcome in outcomes)]
    lines = [["rule", *modes]]
    for rule in dict.fromkeys(outcome.rule for outcome in outcomes):
        of_rule = [outcome for outcome in outcomes if outcome.rule == rule]
        lines.append([rule, *(_counted(o for o in of_rule if o.mode == mode) for mode in modes)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _counted(outcomes: Iterable[Outcome]) -> str:
    counts = Counter(outcome.verdict for outcome in outcomes)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def summary(outcomes: list[Outcome]) -> str:
    """Count the verdicts in words, those that never occurred too."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)


def as_json(outcomes: list[Outcome]) -> str:
    """Return the outcomes as a JSON document, with the versions that they were found with."""
    document = {
        "paddle": paddle.__version__,
        "python": platform.python_version(),
        "counts": Counter(outcome.verdict for outcome in outcomes),
        "outcomes": [asdict(outcome) for outcome in outcomes],
    }
    return json.dumps(document, indent=2) + "\n"
