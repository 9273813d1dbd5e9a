"""Run one program for each rule, today and with this design: `python -m tools.survey.decisions`.

An outcome is kept with the digest of all that it depends on. Where the digest is that of today the
kept outcome stands; where it is not, the program is run again, wherever the table is made.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import select
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from unittest import mock

import paddle
import static_hooks
from static_hooks import conformance, corpus, patches
from static_hooks.corpus import Case, Scenario

from .environments import ROOT, machine, without_places

RECORD = ROOT / "docs" / "recorded" / "decisions.json"
PACKAGE = Path(static_hooks.__file__).parent
SECONDS = 300  # for one program
_LETTERS = 400  # of a detail

# Mode, and whether hooks in static graphs are enabled.
SETTINGS = {
    "eager": ("eager", False),
    "AST today": ("ast", False),
    "SOT today": ("sot", False),
    "AST": ("ast", True),
    "SOT": ("sot", True),
}
# What an outcome without `static_hooks` depends on; with it, the whole package.
_RUNNERS = ("conformance.py", "compare.py", "runs.py", "records.py", "corpus/__init__.py")
_ELSEWHERE = ("corpus", "mutants", "designs.py", "drawing.py")
# Where the first program of a rule does not show the rule best.
_CHOSEN = {
    "grad-in-forward": "off_the_way",
    "late-registration": "between_two_uses",
    "multi-output": "each_of_unbind",
    "sot": "a_function_of_the_module",
}
_OF_THE_DESIGN = ("sot", "unhooked-untouched", "disable-restores", "saved-program", "data-parallel")


@dataclass(frozen=True)
class Decided:
    """What one program of a rule did in one setting.

    Attributes:
        rule, program, setting: which.
        digest: of all that the outcome depends on.
        verdict: one of `conformance.VERDICTS`, "unsafe" where eager mode itself is wrong, or
            "died".
        detail: what was different.
        graphs, breaks: what SOT counted.
    """

    rule: str
    program: str
    setting: str
    digest: str
    verdict: str
    detail: str = ""
    graphs: int | None = None
    breaks: int | None = None


def program_of(rule: str) -> Case | Scenario:
    """Return the program that stands for a rule."""
    entries = corpus.load(rule)
    return next((e for e in entries if e.name == _CHOSEN.get(rule)), entries[0])


def decide(kept: Iterable[Decided] = ()) -> Iterator[Decided]:
    """Yield the outcome of each rule in each setting; what was kept and still holds is not run."""
    known = {(one.rule, one.setting): one for one in kept}
    rules = [rule for group in corpus.RULES.values() for rule in group]
    for setting in SETTINGS:
        current = [known.get((rule, setting)) for rule in rules]
        holds = {
            one.rule: one for one in current if one and one.digest == digest(one.rule, setting)
        }
        yield from holds.values()
        yield from _run([rule for rule in rules if rule not in holds], setting)


def digest(rule: str, setting: str) -> str:
    """Return the digest of what an outcome depends on."""
    files = [PACKAGE / "corpus" / f"{rule.replace('-', '_')}.py"]
    files += _package_files() if SETTINGS[setting][1] else [PACKAGE / name for name in _RUNNERS]
    return _digest(program_of(rule).name, paddle.__version__, tuple(files))


@cache
def _package_files() -> list[Path]:
    paths = [
        p
        for p in sorted(PACKAGE.rglob("*.py"))
        if p.relative_to(PACKAGE).parts[0] not in _ELSEWHERE
    ]
    return [*paths, PACKAGE / "corpus" / "__init__.py"]


@cache
def _digest(name: str, version: str, files: tuple[Path, ...]) -> str:
    whole = hashlib.sha256(f"{name} {version}".encode())
    for path in files:
        whole.update(path.read_bytes())
    return whole.hexdigest()[:16]


def _run(rules: list[str], setting: str) -> Iterator[Decided]:
    """Run programs in a child, and in another one when that dies: eager mode may die of some."""
    waiting = [rule for rule in rules if applies(rule, setting)]
    while waiting:
        process, answers = _child(lambda rule: _judged(rule, setting), list(waiting))
        for line in answers:
            yield Decided(**json.loads(line))
            waiting.pop(0)
        _, status = os.waitpid(process, 0)
        if waiting and status:
            how = f"the process ended with status {os.waitstatus_to_exitcode(status)}"
            yield _decided(waiting.pop(0), setting, "died", how)


def applies(rule: str, setting: str) -> bool:
    """Return whether a rule says something about a setting."""
    mode, is_enabled = SETTINGS[setting]
    about_design = rule in _OF_THE_DESIGN and not is_enabled
    return mode not in program_of(rule).not_applicable and not (about_design and mode != "eager")


def _decided(
    rule: str,
    setting: str,
    verdict: str,
    detail: str,
    graphs: int | None = None,
    breaks: int | None = None,
) -> Decided:
    name, key = program_of(rule).name, digest(rule, setting)
    detail = without_places(detail)[:_LETTERS]
    return Decided(rule, name, setting, key, verdict, detail, graphs, breaks)


def _judged(rule: str, setting: str) -> Decided:
    mode, is_enabled = SETTINGS[setting]
    program = program_of(rule)
    as_it_is = mock.patch.object(patches, "enabled", nullcontext)
    with nullcontext() if is_enabled else as_it_is:
        outcome = conformance.judge(rule, program, mode, isolated=True)
    if mode == "eager" and program.safer and "ast" in program.safer.modes:
        return _decided(rule, setting, "unsafe", program.safer.why)
    found = (outcome.verdict, outcome.detail, outcome.graphs, outcome.breaks)
    return _decided(rule, setting, *found)


def _child(run: Callable[[str], Decided], rules: list[str]) -> tuple[int, Iterator[str]]:
    """Fork, run all rules there, and yield its lines; a child that hangs is killed.

    Call it before Paddle has run anything here: its threads do not survive a fork.
    """
    ours, theirs = os.pipe()
    process = os.fork()
    if process:
        os.close(theirs)
        return process, _lines(ours, process)
    status = 1
    try:
        os.close(ours)
        silent = os.open(os.devnull, os.O_RDWR)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        for rule in rules:
            os.write(theirs, json.dumps(asdict(run(rule))).encode() + b"\n")
        status = 0
    finally:
        os._exit(status)


def _lines(pipe: int, process: int) -> Iterator[str]:
    with os.fdopen(pipe, "rb", buffering=0) as answers:
        text = b""
        while True:
            if not select.select([answers], [], [], SECONDS)[0]:
                os.kill(process, signal.SIGKILL)
            part = answers.read(1 << 16)
            if not part:
                return
            *lines, text = (text + part).split(b"\n")
            yield from (line.decode() for line in lines)


def recorded() -> list[Decided]:
    """Return the kept outcomes."""
    if not RECORD.exists():
        return []
    return [Decided(**one) for one in json.loads(RECORD.read_text(encoding="utf-8"))["decided"]]


def write(decided: Iterable[Decided]) -> None:
    """Keep outcomes."""
    document: Mapping[str, object] = {
        "command": "python -m tools.survey.decisions",
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": machine(),
        "paddle": paddle.__version__,
        "decided": [asdict(one) for one in decided],
    }
    RECORD.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> int:
    """Run what has changed since the record, and write it anew."""
    decided = []
    for one in decide(recorded()):
        decided.append(one)
        sys.stderr.write(f"decisions: {one.setting}: {one.rule}: {one.verdict}\n")
    write(decided)
    return 0


if __name__ == "__main__":
    sys.exit(main())
