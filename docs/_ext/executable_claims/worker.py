"""The launcher: one process that imports what is slow, then forks a child for each chapter.

Run as ``python -m executable_claims.worker`` by the build, never imported by it. It reads one line
of JSON from stdin (what to import, how many children at once, the chapters) and answers with one
line of JSON for each thing that happens. A chapter's child inherits the imported packages, so it
starts in milliseconds, and shares nothing else with the others. When stdin closes, the build has
ended or been killed, and all children are killed too.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import py_compile
import select
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from .cells import run_chapter
from .digest import source_files
from .jobs import Job
from .mutants import Reach, applied, watching
from .store import write_result

TICK = 0.02
"""Seconds between two looks at the children."""


class Launcher:
    """Runs the chapters of one request.

    Args:
        request: What the build wants; see :func:`executable_claims.execution.run_orders`.
        events: File descriptor for the answers.
    """

    def __init__(self, request: dict[str, Any], events: int) -> None:
        self.request = request
        self.events = events
        self.waiting: list[dict[str, Any]] = list(request["jobs"])
        self.running: dict[int, tuple[dict[str, Any], float]] = {}

    def send(self, event: str, **more: Any) -> None:
        """Tell the build that something happened."""
        os.write(self.events, json.dumps({"event": event, **more}).encode() + b"\n")

    def run(self) -> None:
        """Run every chapter, or stop when the build is gone."""
        try:
            while self.waiting or self.running:
                while self.waiting and len(self.running) < self.request["at_once"]:
                    self._start(self.waiting.pop(0))
                readable, _, _ = select.select([0], [], [], TICK)
                if readable:
                    return
                self._reap()
        finally:
            for child in self.running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)

    def _start(self, job: dict[str, Any]) -> None:
        child = os.fork()
        if child == 0:
            self._be_child(job)
        with contextlib.suppress(OSError):  # also here: whoever comes first
            os.setpgid(child, child)
        self.running[child] = (job, time.monotonic())

    def _reap(self) -> None:
        for child, (job, start) in list(self.running.items()):
            late = time.monotonic() - start > job["timeout"]
            if late:
                os.killpg(child, signal.SIGKILL)
            done, status = os.waitpid(child, 0 if late else os.WNOHANG)
            if done:
                del self.running[child]
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    # What the chapter started and left behind ends with it.
                    os.killpg(child, signal.SIGKILL)
                code = os.waitstatus_to_exitcode(status)
                self.send("end", name=job["name"], code=code, late=late)

    def _be_child(self, job: dict[str, Any]) -> NoReturn:
        code = 1
        try:
            os.setpgid(0, 0)
            with _native_output(Path(job["log"])) as output:
                chapter = Job.from_json(job["chapter"])
                with _designs(job) as reach:
                    result = run_chapter(
                        chapter,
                        lambda cell: self.send("cell", name=job["name"], line=cell.line),
                        output,
                        reach,
                        Path(job["so_far"]),
                    )
                write_result(Path(job["result"]), result)
            code = 0
        except BaseException:  # nothing may return into the launcher's own loop
            self.send("broken", name=job["name"], text=traceback.format_exc())
        finally:
            os._exit(code)


def _designs(job: dict[str, Any]) -> contextlib.AbstractContextManager[Reach | None]:
    """Return the context of the design under which a chapter runs."""
    if not job["mutants"]:
        return contextlib.nullcontext()
    if job["mutant"]:
        return applied(job["mutants"], job["mutant"])
    return watching(job["mutants"])


@contextlib.contextmanager
def _native_output(log: Path) -> Any:
    """Send the real stdout to a temporary file and the real stderr to ``log``; close stdin."""
    with (
        tempfile.TemporaryFile("a+b") as output,
        log.open("wb") as errors,
        Path(os.devnull).open("rb") as nothing,
    ):
        os.dup2(nothing.fileno(), 0)  # the launcher's own: reading it would end the build
        os.dup2(output.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        yield output


def _prepare(request: dict[str, Any]) -> None:
    """Make the launcher ready to fork: import what is slow, keep project bytecode honest."""
    # By default Python trusts bytecode by time stamp and size, which an edit can leave unchanged.
    for folder in request["sources"]:
        for path in source_files(Path(folder)):
            if path.suffix == ".py":
                py_compile.compile(
                    str(path),
                    quiet=2,
                    invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH,
                )
    for name in request["preload"]:
        importlib.import_module(name)
    # What is imported stays: a collection of garbage in a child need not look through it.
    gc.collect()
    gc.freeze()


def main() -> None:
    """Answer one request of the build."""
    request = json.loads(_read_line())
    sys.path[0] = ""  # the chapter's folder, as in a notebook
    events = os.dup(1)
    with Path(os.devnull).open("r+b") as null:
        for descriptor in (1, 2):
            os.dup2(null.fileno(), descriptor)
    launcher = Launcher(request, events)
    try:
        _prepare(request)
    except Exception:  # whatever an import raises, the build reports it
        launcher.send("broken", name=None, text=traceback.format_exc())
        return
    launcher.run()


def _read_line() -> bytes:
    """Read the request without buffering what follows it: the end of the input is a signal."""
    parts: list[bytes] = []
    while not (parts and parts[-1].endswith(b"\n")):
        part = os.read(0, 1 << 16)
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


if __name__ == "__main__":
    main()
