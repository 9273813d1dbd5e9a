"""Run chapters from the build: start the launcher, follow its answers, collect the results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from .errors import ExecutionError
from .jobs import Job
from .store import Execution, Fault, read_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

LOG_LINES = 12
"""How much of a crashed chapter's stderr the message shows."""


@dataclass(frozen=True)
class Order:
    """One run of one chapter.

    Attributes:
        name: Its name, unlike that of any other run of the same build.
        job: The chapter.
        mutants: Where the mutants are, if this run has to do with them.
        mutant: Name of the one to apply; empty to watch which are used.
        timeout: Seconds after which the run is stopped, or None for those of all runs.
    """

    name: str
    job: Job
    mutants: str = ""
    mutant: str = ""
    timeout: float | None = None


@dataclass
class _Run:
    """A run under way: its files, and what the launcher has told of it."""

    order: Order
    result: Path
    line: int = 1
    trouble: str = ""

    @property
    def log(self) -> Path:
        """File for what the chapter's process writes to its real stderr."""
        return self.result.with_suffix(".log")

    @property
    def so_far(self) -> Path:
        """File for what a trial has decided before it ends."""
        return self.result.with_suffix(".partial")

    def request(self, timeout: float) -> dict[str, Any]:
        """Return what the launcher must know."""
        return {
            "name": self.order.name,
            "chapter": self.order.job.to_json(),
            "result": str(self.result),
            "log": str(self.log),
            "so_far": str(self.so_far),
            "mutants": self.order.mutants,
            "mutant": self.order.mutant,
            "timeout": self.order.timeout or timeout,
        }


@dataclass(frozen=True)
class Setting:
    """How chapters are run.

    Attributes:
        preload: Modules to import once, before the first chapter.
        sources: Folders and files of the project that cells may import.
        at_once: Number of chapters that run at the same time.
        timeout: Seconds after which a chapter is stopped.
        scratch: Folder for files that live as long as the run.
    """

    scratch: Path
    preload: tuple[str, ...] = ()
    sources: tuple[Path, ...] = ()
    at_once: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    timeout: float = 600.0


def run_orders(
    orders: Iterable[Order],
    setting: Setting,
    on_end: Callable[[str, Execution], None] = lambda name, execution: None,
) -> dict[str, Execution]:
    """Run chapters, each in a process of its own.

    Args:
        orders: The runs.
        setting: How to run them.
        on_end: Called with the name and the result of each run when it has ended.

    Returns:
        The results by the names of the runs; also of those that crashed.

    Raises:
        ExecutionError: The launcher did not do its work.
    """
    results: dict[str, Execution] = {}
    with _scratch(setting.scratch) as folder:
        runs = {
            order.name: _Run(order, folder / f"{number}.json")
            for number, order in enumerate(orders)
        }
        if runs:
            for name, execution in _follow(runs, setting, folder):
                results[name] = execution
                on_end(name, execution)
    return results


@contextmanager
def _scratch(parent: Path) -> Iterator[Path]:
    """Make a folder that belongs to this process; see :func:`executable_claims.store.prune`."""
    parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f"run.{os.getpid()}.", dir=parent) as folder:
        yield Path(folder)


def _follow(
    runs: dict[str, _Run], setting: Setting, folder: Path
) -> Iterator[tuple[str, Execution]]:
    """Start the launcher and yield the result of each run as it ends."""
    pending = dict(runs)
    with _launcher(folder) as launcher:
        request = {
            "preload": setting.preload,
            "sources": [str(path) for path in setting.sources],
            "at_once": setting.at_once,
            "jobs": [run.request(setting.timeout) for run in runs.values()],
        }
        launcher.stdin.write(json.dumps(request).encode() + b"\n")
        launcher.stdin.flush()
        for line in launcher.stdout:
            event = json.loads(line)
            if event["name"] is None:
                raise ExecutionError(
                    "the modules of claims_preload must be importable, but got:\n"
                    f"{event['text']}correct claims_preload in conf.py or install the package"
                )
            run = runs[event["name"]]
            if event["event"] == "cell":
                run.line = event["line"]
            elif event["event"] == "broken":
                run.trouble = event["text"]
            else:
                del pending[run.order.name]
                yield run.order.name, read_result(run.result) or _crashed(run, event, setting)
    if pending:
        raise ExecutionError(
            "the launcher must run every chapter, but it ended with exit code "
            f"{launcher.returncode} before {', '.join(sorted(pending))}; build again"
        )


def _launcher(folder: Path) -> Any:
    """Start the launcher; what its libraries keep in a home folder goes into ``folder``."""
    own = str(Path(__file__).parent.parent)
    paths = os.pathsep.join(filter(None, (own, os.environ.get("PYTHONPATH"))))
    environment = {
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        # The order of sets must not differ from build to build.
        "PYTHONHASHSEED": "0",
        **os.environ,
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONPATH": paths,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "executable_claims.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )


def _crashed(run: _Run, event: Mapping[str, Any], setting: Setting) -> Execution:
    """Return the result of a chapter whose process left none."""
    if event["late"]:
        timeout = run.order.timeout or setting.timeout
        got = f"this cell was still running after {timeout:g} seconds"
        remedy = "make it faster or raise claims_timeout in conf.py"
    elif event["code"] < 0:
        got = f"this cell killed its process by {signal.Signals(-event['code']).name}"
        remedy = "mend the cell or what it calls"
    else:
        got = f"this cell ended its process with exit code {event['code']}"
        remedy = "remove what ends the process"
    log = run.log.read_text(errors="replace").splitlines() if run.log.is_file() else []
    details = "\n".join([*filter(None, [run.trouble.rstrip()]), *log[-LOG_LINES:]])
    text = f"the cells of a chapter must run to their end, but {got}; {remedy}"
    if details:
        text += "\n" + details
    known = read_result(run.so_far)
    return Execution(
        run.order.job.key,
        evidence=known.evidence if known else (),
        faults=(Fault("cell-error", run.line, text),),
    )
