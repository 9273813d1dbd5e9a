"""The survey's runner judges and records as it says, and the record has the form that pages read.

The frameworks themselves are not asked again here: that takes environments of their own.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from static_hooks import designs
from static_hooks.designs import DESIGNS

from tools.survey import environments, probes
from tools.survey.environments import Environment, NotRunError, without_places
from tools.survey.pictures import Grid, Ratios, Table
from tools.survey.probes import PEERS, PROBES, Probe, verdict

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tools" / "survey" / "programs"
RECORDED = ROOT / "docs" / "recorded"
TEXT = (RECORDED / "survey.json").read_text(encoding="utf-8")
RECORD = json.loads(TEXT)
ANSWERS = [
    (name, mode, probe, answer)
    for name, peer in RECORD["peers"].items()
    for mode, told in peer.get("modes", {}).items()
    for probe, answer in told["answers"].items()
]
GRADIENT = Probe("a gradient", {"gradient": 98.0})
TWO = Probe("two gradients", {"first": 98.0, "second": 32.0})


@pytest.mark.parametrize(
    ("probe", "answer", "expected"),
    [
        (GRADIENT, {"got": {"gradient": 98.0}}, "same"),
        (GRADIENT, {"got": {"gradient": 98.00001}}, "same"),
        (GRADIENT, {"got": {"gradient": 38.0}}, "differs"),
        (GRADIENT, {"got": {"gradient": 98.0, "more": 1}}, "same"),
        (GRADIENT, {"got": {"other": 98.0}}, "differs"),
        (GRADIENT, {"got": {"gradient": "ValueError: no"}}, "raised"),
        (GRADIENT, {"raised": "ValueError: no"}, "raised"),
        (GRADIENT, {"no form": "no handle"}, "no form"),
        (GRADIENT, {"died": "the process ended with status -11"}, "died"),
        (TWO, {"got": {"first": 38.0, "second": "ValueError: no"}}, "differs"),
        (TWO, {"got": {"first": 98.0, "second": "ValueError: no"}}, "raised"),
        (TWO, {"got": {"first": 98.0, "second": "no form: one step"}}, "same"),
        (Probe("a ratio", {}), {"got": {"hooked / unhooked": 1.3}}, "measured"),
    ],
)
def test_verdict(probe: Probe, answer: dict[str, Any], expected: str) -> None:
    """A wrong number outweighs an exception, and what can't be said is no mistake."""
    assert expected == verdict(probe, answer)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_programs(peer: probes.Peer) -> None:
    """Each framework's program has every probe and every mode that is asked of it."""
    tree = ast.parse((PROGRAMS / peer.program).read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    (modes,) = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MODES"
    ]
    assert isinstance(modes, ast.Dict)
    assert set() == {probe.replace("-", "_") for probe in PROBES} - functions
    assert set(peer.modes) == {ast.literal_eval(key) for key in modes.keys if key}


def test_ask(tmp_path: Path) -> None:
    """The answer is the last line that a program prints; one that dies or hangs is told of."""
    here = Environment("survey", (), "json")
    here.path.mkdir(parents=True, exist_ok=True)
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint('noise')\nexec(sys.argv[1])\n", encoding="utf-8")
    assert {"got": 1} == here.ask(program, "print('{\"got\": 1}')")
    died = {"died": "the process ended with status 3"}
    assert died == here.ask(program, "sys.exit(3)")
    assert {"died": "no answer in 0.5 s"} == here.ask(program, "while True: pass", seconds=0.5)


def test_not_run() -> None:
    """An environment that can't be made says why."""
    with pytest.raises(NotRunError) as caught:
        Environment("survey", (), "no_such_package").make()
    assert "ModuleNotFoundError: No module named 'no_such_package'" == str(caught.value)
    nowhere = Environment("nowhere", ("nothing",), "nothing", ("python0.1", "python0.2"))
    with pytest.raises(NotRunError) as caught:
        nowhere.make()
    told = "it needs python0.1 or python0.2, but this machine has none of them"
    assert told == str(caught.value)


def test_without_places() -> None:
    """Texts name no folder of this machine and no address."""
    text = f"in {environments.ROOT}/a.py and {Path.home()}/b.py, see https://example.org/c"
    assert "in a.py and ~/b.py, see …" == without_places(text)


def test_record_is_complete() -> None:
    """Each peer of the record was asked everything in every mode, or says why it was not run."""
    assert {n: {"asks": p.asks, "right": p.right} for n, p in PROBES.items()} == RECORD["probes"]
    modes = {peer.name: set(peer.modes) for peer in PEERS}
    for name, peer in RECORD["peers"].items():
        assert date.fromisoformat(peer["date"]).year >= 2026
        if "not run" in peer:
            assert peer["not run"]
            continue
        assert modes[name] == set(peer["modes"])
        assert {"python"} < set(peer["versions"])
        assert [set(PROBES)] * len(modes[name]) == [
            set(told["answers"]) for told in peer["modes"].values()
        ]


@pytest.mark.parametrize(("peer", "mode", "probe", "answer"), ANSWERS)
def test_recorded_verdicts(peer: str, mode: str, probe: str, answer: dict[str, Any]) -> None:
    """A recorded verdict is what the runner says of the recorded answer today."""
    told = {key: value for key, value in answer.items() if key != "verdict"}
    assert verdict(PROBES[probe], told) == answer["verdict"]


@pytest.mark.parametrize("name", ["survey.json", "scoreboard.json"])
def test_record_has_no_places(name: str) -> None:
    """The records name no folder of a machine and no address."""
    text = (RECORDED / name).read_text(encoding="utf-8")
    assert [] == re.findall(r"(?:/(?:root|home|tmp|work|usr)/|https?://)\S*", text)


def test_recorded_scoreboard() -> None:
    """The recorded scoreboard has every design on every case, each once, and nothing else."""
    document = json.loads((RECORDED / "scoreboard.json").read_text(encoding="utf-8"))
    marks = [(mark["rule"], mark["case"], mark["design"]) for mark in document["marks"]]
    expected = {(rule, case.name, name) for rule, case in designs.cases() for name in DESIGNS}
    assert expected == set(marks)
    assert len(expected) == len(marks)
    assert {"right", "wrong", "refused"} == {mark["verdict"] for mark in document["marks"]}


def test_grid() -> None:
    """A picture has a description, words for a reader of text, and no colour of its own for ink."""
    grid = Grid(
        "Two", ["first", "second"], {"a": ["same", "differs"], "b": ["no form", "6/8 wrong"]}
    )
    assert "Two\n   first, second\na  same, differs\nb  no form, 6/8 wrong" == repr(grid)
    page = grid._repr_html_()
    assert "<title>Two</title><desc>a: first same, second differs; b: first no form" in page
    assert "✓ as Paddle&#x27;s eager mode" in page
    assert "6/8" in page
    assert "#010203" not in page


def test_table() -> None:
    """A table is Markdown."""
    table = Table(["a", "b"], [["1", "`2`"]])
    assert "| a | b |\n| --- | --- |\n| 1 | `2` |" == table._repr_markdown_()


def test_ratios() -> None:
    """A ratio above its budget is said to be missed, in the text and in the description."""
    ratios = Ratios("Cost", {"step": (1.0, 1.05, 1.1, 1.08), "call": (3.5, 4.25, 5, 3.0)})
    step = "step: 1.05 (1.00 to 1.10), budget 1.08"
    call = "call: 4.25 (3.50 to 5.00), budget 3, missed"
    assert f"Cost\n{step}\n{call}" == repr(ratios)
    page = ratios._repr_html_()
    assert f"<title>Cost</title><desc>{step}; {call}</desc>" in page
    assert "4.25 missed" in page
    assert "1.05 missed" not in page


@pytest.mark.parametrize("name", ["tools.survey", "tools.matrix"])
def test_unknown_name(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """A peer or version that is not known is refused, with those that are."""
    module = __import__(f"{name}.__main__", fromlist=["main"])
    monkeypatch.setattr(sys, "argv", [name, "Nonesuch"])
    with pytest.raises(SystemExit):
        module.main()
    assert "but got Nonesuch" in capsys.readouterr().err
