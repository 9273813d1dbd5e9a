"""The decision table runs what has changed since its record, and survives programs that die."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from static_hooks import conformance, corpus

from tools.survey import decisions
from tools.survey.decisions import RECORD, SETTINGS, Decided, decide, recorded

RULES = [rule for group in corpus.RULES.values() for rule in group]
# A process of its own: it forks, and Paddle's threads in this one would not survive that.
PROGRAM = """
import json
from dataclasses import asdict
from static_hooks import corpus
from tools.survey.decisions import decide
corpus.RULES = {"Some": ("self-removal", "accumulated-gradient", "bad-return")}
print(json.dumps([asdict(one) for one in decide()]))
"""


def test_outcomes() -> None:
    """Eager mode dies of one program, accepts a wrong shape, and is right about the third."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    done = subprocess.run(command, cwd=decisions.ROOT, capture_output=True, text=True, check=True)
    found = {(one["setting"], one["rule"]): one for one in json.loads(done.stdout.splitlines()[-1])}
    died = found["eager", "self-removal"]
    assert ("died", "the process ended with status -11") == (died["verdict"], died["detail"])
    assert "unsafe" == found["eager", "bad-return"]["verdict"]
    assert "same" == found["eager", "accumulated-gradient"]["verdict"]
    today = found["AST today", "accumulated-gradient"]
    assert "error" == today["verdict"]
    assert "but got AssertionError: 'register_hook' only can be called" in today["detail"]
    assert "must be [98.] but got [38.]" in found["SOT today", "accumulated-gradient"]["detail"]
    for setting in ("AST", "SOT"):
        assert ["safer", "same", "safer"] == [
            found[setting, rule]["verdict"]
            for rule in ("self-removal", "accumulated-gradient", "bad-return")
        ]
    assert (1, 0) == tuple(found["SOT", "accumulated-gradient"][n] for n in ("graphs", "breaks"))


def test_only_changes_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """An outcome with today's digest stands, and any other is run again."""
    monkeypatch.setattr(corpus, "RULES", {"Some": ("accumulated-gradient", "late-registration")})
    run: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        decisions, "_run", lambda rules, setting: run.append((setting, *rules)) or []
    )
    kept = [
        Decided(rule, "program", setting, decisions.digest(rule, setting), "same")
        for rule in ("accumulated-gradient", "late-registration")
        for setting in SETTINGS
    ]
    kept[-1] = replace(kept[-1], digest="of yesterday")
    assert kept[:-1] == sorted(decide(kept), key=kept.index)
    assert {("SOT", "late-registration")} == {one for one in run if len(one) > 1}


def test_digest() -> None:
    """With the design an outcome depends on the package, and without it on what runs programs."""
    of = {setting: decisions.digest("accumulated-gradient", setting) for setting in SETTINGS}
    assert of["eager"] == of["AST today"] == of["SOT today"]
    assert of["AST"] == of["SOT"] != of["eager"]
    assert of["AST"] != decisions.digest("late-registration", "AST")


def test_record() -> None:
    """The record has an outcome for each rule and setting that it is about, and no other."""
    expected = {(r, s) for r in RULES for s in SETTINGS if decisions.applies(r, s)}
    found = recorded()
    assert expected == {(one.rule, one.setting) for one in found}
    assert len(expected) == len(found)
    assert set() == {one.verdict for one in found} - {*conformance.VERDICTS, "unsafe", "died"}
    text = RECORD.read_text(encoding="utf-8")
    assert [] == re.findall(r"(?:/(?:root|home|tmp|work|usr)/|https?://)\S*", text)
