"""Keep the results of executed chapters: one file for each, replaced as a whole.

A result is written beside its place and moved there, so that a build that is killed at any moment
leaves the old result or the new one.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .digest import file_digest
from .model import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORMAT = 1
"""Number of the file format; a result of another format is not read."""


@dataclass(frozen=True)
class Fault:
    """Something that went wrong in a cell outside of an evidence block.

    Attributes:
        subtype: ``cell-error`` or ``silent-pass``.
        line: Line of the chapter.
        text: What must be, what was got, and how to proceed.
    """

    subtype: str
    line: int
    text: str


@dataclass(frozen=True)
class Execution:
    """What running the cells of a chapter gave.

    Attributes:
        key: Key of the chapter when it ran.
        sources: Source of each code cell that ran.
        outputs: Outputs of each of these, in notebook format.
        evidence: What its evidence blocks observed.
        faults: What went wrong outside of them.
        files: Digest of each project file that it read, by path relative to the root.
        packages: Digest of each project folder of which it read a file.
        versions: Versions of the packages that evidence names.
        seconds: Time that the cells took.
        reached: For each claim that was decided, the mutants whose code it would have run. Noted
            only when that was asked for.
    """

    key: str
    sources: tuple[str, ...] = ()
    outputs: tuple[list[dict[str, Any]], ...] = ()
    evidence: tuple[Evidence, ...] = ()
    faults: tuple[Fault, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    reached: dict[str, list[str]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether nothing went wrong. A result that is red is never reused."""
        return not self.faults and not any(evidence.failures for evidence in self.evidence)

    def usable(self, key: str, root: Path, packages: Mapping[str, str]) -> bool:
        """Return whether the result still says what running the chapter would give."""
        return self.passed and self.key == key and not self.changed(root, packages)

    def changed(self, root: Path, packages: Mapping[str, str]) -> list[str]:
        """Return what the run read that is not the same any more."""
        files = [name for name, old in self.files.items() if file_digest(root / name) != old]
        return files + [name for name, old in self.packages.items() if packages.get(name) != old]


def result_path(folder: Path, docname: str) -> Path:
    """Return the file that holds the result of the chapter ``docname``."""
    # Quoted, so that no two names share a file.
    return folder / f"{quote(docname, safe='')}.json"


def write_result(path: Path, execution: Execution) -> None:
    """Put the result of a chapter in its place."""
    data = {
        "format": FORMAT,
        **{name: getattr(execution, name) for name in Execution.__dataclass_fields__},
        "evidence": [evidence.to_json() for evidence in execution.evidence],
        "faults": [vars(fault) for fault in execution.faults],
    }
    write_atomically(path, json.dumps(data, ensure_ascii=False))


def read_result(path: Path) -> Execution | None:
    """Return the result kept in ``path``, or None when there is none that can be used."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.pop("format") != FORMAT:
            return None
        data["evidence"] = tuple(map(Evidence.from_json, data["evidence"]))
        data["faults"] = tuple(Fault(**fault) for fault in data["faults"])
        data["sources"], data["outputs"] = tuple(data["sources"]), tuple(data["outputs"])
        return Execution(**data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # Whatever is wrong with a kept result, running the chapter again mends it.
        return None


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that it is never seen half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def prune(folder: Path, docnames: Iterable[str]) -> None:
    """Remove the results of chapters that no longer exist, and what killed builds left behind."""
    wanted = {result_path(folder, docname).name for docname in docnames}
    for path in folder.glob("*.json"):
        if path.name not in wanted:
            path.unlink(missing_ok=True)
    for path in folder.glob("*.partial"):
        if not _alive(path.name.split(".")[-2]):
            path.unlink(missing_ok=True)
    for path in folder.glob("run.*"):
        if not _alive(path.name.split(".")[1]):
            shutil.rmtree(path, ignore_errors=True)


def _alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
