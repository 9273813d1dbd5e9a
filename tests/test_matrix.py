"""The record of other Paddle versions has the form that pages read, and the verdicts are right.

The versions themselves are not asked again here: that takes environments of their own.
"""

from __future__ import annotations

import ast
import json
import re
from datetime import date
from pathlib import Path

from tools.matrix.__main__ import CASES, PROGRAM, RECORD, VERSIONS
from tools.survey.probes import verdict

TEXT = RECORD.read_text(encoding="utf-8")
FOUND = json.loads(TEXT)


def test_program_has_every_case() -> None:
    """The program has a function for each case."""
    tree = ast.parse(Path(PROGRAM).read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert set() == {case.replace("-", "_") for case in CASES} - functions


def test_record_is_complete() -> None:
    """Each version of the record was asked every case, or says why it was not run."""
    assert {n: {"asks": c.asks, "right": c.right} for n, c in CASES.items()} == FOUND["cases"]
    assert set() == set(FOUND["versions"]) - set(VERSIONS)
    for version, told in FOUND["versions"].items():
        assert date.fromisoformat(told["date"]).year >= 2026
        if "not run" not in told:
            assert version == told["versions"]["paddlepaddle"]
            assert set(CASES) == set(told["answers"])


def test_recorded_verdicts() -> None:
    """A recorded verdict is what the runner says of the recorded answer today."""
    for told in FOUND["versions"].values():
        for case, answer in told.get("answers", {}).items():
            judged = {key: value for key, value in answer.items() if key != "verdict"}
            assert verdict(CASES[case], judged) == answer["verdict"], case


def test_record_has_no_places() -> None:
    """The record names no folder of a machine and no address."""
    assert [] == re.findall(r"(?:/(?:root|home|tmp|work|usr)/|https?://)\S*", TEXT)
