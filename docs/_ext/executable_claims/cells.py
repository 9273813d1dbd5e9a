"""Run the cells of a chapter in this process and collect what they showed and decided."""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .digest import file_digest
from .evidence import collecting
from .model import Evidence
from .mutants import Reach
from .shell import ChapterShell, Outputs
from .store import Execution, Fault, write_result

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .jobs import Job
    from .model import Cell


@dataclass
class _Run:
    """What has been collected so far."""

    cell: int = -1
    sources: list[str] = field(default_factory=list)
    outputs: list[Outputs] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    reach: Reach = field(default_factory=Reach)

    def collect(self, evidence: Evidence) -> None:
        self.evidence.append(replace(evidence, cell=self.cell))
        self.reach.end_block(evidence.slug)


def run_chapter(
    job: Job,
    on_cell: Callable[[Cell], None] = lambda cell: None,
    native_output: io.BufferedRandom | None = None,
    reach: Reach | None = None,
    so_far: Path | None = None,
) -> Execution:
    """Run the cells of a chapter, up to the first one that fails.

    The process must be the chapter's own: its folder becomes the working folder.

    Args:
        job: The chapter.
        on_cell: Called with each cell before it runs.
        native_output: File to which the real stdout of the process is redirected.
        reach: Is told of the mutants whose code the cells would have run.
        so_far: File for the evidence so far: a trial may end its process.

    Returns:
        The result, with the digest of every project file that was read.
    """
    opened = _watch_files(job.root)
    os.chdir(job.path.parent)
    shell = ChapterShell(job.path, os.path.relpath(job.path, job.root), job.cells, native_output)
    run = _Run(reach=reach or Reach())
    start = time.perf_counter()
    with collecting(run.collect, hasty=job.trial):
        for cell in job.cells:
            on_cell(cell)
            fault = _run_cell(cell, shell, run)
            if so_far and job.trial:
                write_result(so_far, Execution(job.key, evidence=tuple(run.evidence)))
            if fault and fault.subtype == "cell-error" and not job.trial:
                break
    run.faults += _imported_from_elsewhere(job)
    files = _files_read(job, opened)
    return Execution(
        job.key,
        tuple(run.sources),
        _without_places(run.outputs, job.root),
        tuple(Evidence.from_json(_without_places(e.to_json(), job.root)) for e in run.evidence),
        tuple(Fault(**_without_places(vars(fault), job.root)) for fault in run.faults),
        files=files,
        packages=_packages_of(files, job.packages),
        versions={"python": sys.version.split()[0], **{n: metadata.version(n) for n in job.named}},
        seconds=time.perf_counter() - start,
        reached=run.reach.by_claim,
    )


def _run_cell(cell: Cell, shell: ChapterShell, run: _Run) -> Fault | None:
    run.cell = cell.index
    outputs, error = shell.run(cell)
    run.reach.end_cell()
    run.sources.append(cell.source)
    run.outputs.append(outputs)
    fault = _fault(cell, error, shell)
    run.faults += [fault] if fault else []
    return fault


def _fault(cell: Cell, error: BaseException | None, shell: ChapterShell) -> Fault | None:
    allowed = "raises-exception" in cell.tags
    if error is None and allowed:
        return Fault(
            "silent-pass",
            cell.line,
            "the cell must raise, as its tag raises-exception says, but it ran to its end; "
            "remove the tag or mend the cell",
        )
    if error is None or allowed:
        return None
    return Fault(
        "cell-error",
        shell.error_line(error) or cell.line,
        f"the cells of a chapter must run to their end, but got {type(error).__name__}: {error}; "
        "mend the cell, or state the exception as a claim with check.raises",
    )


def _imported_from_elsewhere(job: Job) -> Iterator[Fault]:
    """Find packages of the project that were imported from another folder than the project's.

    Their results would be those of other sources than the ones that the build looks after.
    """
    for name in job.packages:
        module = sys.modules.get(Path(name).name)
        file = getattr(module, "__file__", None)
        if file and Path(file).resolve().parent != (job.root / name).resolve():
            yield Fault(
                "stale",
                1,
                f"{Path(name).name} must be imported from {name}, but got {file}; install the "
                "project in place with `pip install --no-deps --editable .`",
            )


def _without_places(value: Any, root: Path) -> Any:
    """Return JSON values with the folders of this machine taken out of every text.

    A reader elsewhere has other folders, and results must not differ from machine to machine.
    """
    if isinstance(value, str):
        for folder in (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), str(root)):
            value = value.replace(folder + os.sep, "")
        return value
    if isinstance(value, (list, tuple)):
        return type(value)([_without_places(part, root) for part in value])
    if isinstance(value, dict):
        return {key: _without_places(part, root) for key, part in value.items()}
    return value


def _watch_files(root: Path) -> dict[str, str]:
    """Return a table that is filled with the project files that Python opens for reading.

    Each has the digest of what it held when it was last opened, not of what it holds when the
    cells have run: an edit in between must be seen.
    """
    opened: dict[str, str] = {}
    foreign = _foreign_folders(root)
    busy = False

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal busy
        if event != "open" or busy or not isinstance(arguments[0], (str, bytes)):
            return
        path, mode, flags = arguments
        if "w" in (mode or "") or (flags or 0) & (os.O_WRONLY | os.O_CREAT):
            return
        busy = True  # looking at the file opens it
        try:
            name = _project_name(os.fsdecode(path), root, foreign)
            if name:
                opened[name] = file_digest(root / name)
        finally:
            busy = False

    sys.addaudithook(watch)
    return opened


def _foreign_folders(root: Path) -> list[Path]:
    """Return the folders inside the project's that hold an environment: that is not the project."""
    folders = [Path(sysconfig.get_path("purelib")), Path(sys.prefix).resolve()]
    return [folder for folder in folders if folder.is_relative_to(root)]


def _project_name(name: str, root: Path, foreign: Iterable[Path]) -> str | None:
    """Return the path of a project file relative to the root, or None for any other file.

    A file that is missing counts too: the chapter runs again when it appears.
    """
    for path in (Path(os.path.abspath(name)), Path(os.path.realpath(name))):  # noqa: PTH100
        if path.is_relative_to(root) and not any(map(path.is_relative_to, foreign)):
            counts = not path.is_dir() and "__pycache__" not in path.parts
            return str(path.relative_to(root)) if counts else None
    return None


def _files_read(job: Job, opened: Mapping[str, str]) -> dict[str, str]:
    """Return the digest of each project file that was opened or imported."""
    opened = dict(opened)  # as it is now: looking at files below opens them
    foreign = _foreign_folders(job.root)
    # A copy: looking at a lazy module may change the table of modules.
    imported = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    names = [_project_name(file, job.root, foreign) for file in imported if file]
    files = {name: file_digest(job.root / name) for name in names if name} | opened
    # The chapter's own text is not a dependency: its cells are part of the key.
    files.pop(str(job.path.relative_to(job.root)), None)
    return dict(sorted(files.items()))


def _packages_of(files: Iterable[str], packages: Mapping[str, str]) -> dict[str, str]:
    touched = {name for name in packages for file in files if Path(file).is_relative_to(name)}
    return {name: value for name, value in packages.items() if name in touched}
