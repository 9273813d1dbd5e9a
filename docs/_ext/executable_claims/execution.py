"""Run chapters from the build: start the launcher, follow its answers, collect the results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cells import Job
from .errors import ExecutionError
from .store import Execution, Fault, read_result, write_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

LOG_LINES = 12
"""How much of a crashed chapter's stderr the message shows."""


@dataclass(frozen=True)
class Order:
    """One run of one chapter.

    Attributes:
        job: The chapter.
        result: File for its result.
        mutant: Location and name of the wrong design to apply, or None for none.
    """

    job: Job
    result: Path
    mutant: dict[str, str] | None = None

    @property
    def name(self) -> str:
        """Its name in the answers of the launcher."""
        return str(self.result)

    @property
    def log(self) -> Path:
        """File for what the chapter's process writes to its real stderr."""
        return self.result.with_suffix(".log")


@dataclass
class _Progress:
    line: int = 1
    trouble: str = ""


@dataclass(frozen=True)
class Setting:
    """How chapters are run.

    Attributes:
        preload: Modules to import once, before the first chapter.
        sources: Folders and files of the project that cells may import.
        at_once: Number of chapters that run at the same time.
        timeout: Seconds after which a chapter is stopped.
        environment: Environment variables to add.
    """

    preload: tuple[str, ...] = ()
    sources: tuple[Path, ...] = ()
    at_once: int = field(default_factory=lambda: os.cpu_count() or 1)
    timeout: float = 600.0
    environment: dict[str, str] = field(default_factory=dict)


def run_orders(
    orders: Iterable[Order], setting: Setting, on_end: Callable[[Order], None] = lambda order: None
) -> None:
    """Run chapters, each in a process of its own, and leave a result file for each.

    Args:
        orders: The runs.
        setting: How to run them.
        on_end: Called when a run has ended, however it did.

    Raises:
        ExecutionError: The launcher did not do its work.
    """
    pending = {order.name: order for order in orders}
    progress = {name: _Progress() for name in pending}
    if not pending:
        return
    for order in pending.values():
        order.result.parent.mkdir(parents=True, exist_ok=True)
        order.result.unlink(missing_ok=True)
    with _launcher(setting) as launcher:
        request = json.dumps(_request(pending.values(), setting))
        launcher.stdin.write(request.encode() + b"\n")
        launcher.stdin.flush()
        for line in launcher.stdout:
            event = json.loads(line)
            if event["event"] == "broken" and event["name"] is None:
                raise ExecutionError(
                    "the modules of claims_preload must be importable, but got:\n"
                    f"{event['text']}correct claims_preload in conf.py or install the package"
                )
            _follow(event, pending, progress, setting, on_end)
    if pending:
        raise ExecutionError(
            f"the launcher must run every chapter, but it ended with exit code "
            f"{launcher.returncode} before {', '.join(sorted(pending))}; build again"
        )


def _request(orders: Iterable[Order], setting: Setting) -> dict[str, Any]:
    return {
        "preload": setting.preload,
        "sources": [str(path) for path in setting.sources],
        "at_once": setting.at_once,
        "timeout": setting.timeout,
        "jobs": [
            {
                "name": order.name,
                "chapter": order.job.to_json(),
                "result": str(order.result),
                "log": str(order.log),
                "mutant": order.mutant,
            }
            for order in orders
        ],
    }


def _launcher(setting: Setting) -> Any:
    own = str(Path(__file__).parent.parent)
    paths = os.pathsep.join(filter(None, (own, os.environ.get("PYTHONPATH"))))
    environment = {
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        # The order of sets must not differ from build to build.
        "PYTHONHASHSEED": "0",
        **os.environ,
        **setting.environment,
        "PYTHONPATH": paths,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "executable_claims.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )


def _follow(
    event: Mapping[str, Any],
    pending: dict[str, Order],
    progress: Mapping[str, _Progress],
    setting: Setting,
    on_end: Callable[[Order], None],
) -> None:
    """Take in one answer of the launcher."""
    name = event["name"]
    if event["event"] == "cell":
        progress[name].line = event["line"]
    elif event["event"] == "broken":
        progress[name].trouble = event["text"]
    else:
        order = pending.pop(name)
        if read_result(order.result) is None:
            write_result(order.result, _crashed(order, event, progress[name], setting))
        on_end(order)


def _crashed(
    order: Order, event: Mapping[str, Any], progress: _Progress, setting: Setting
) -> Execution:
    """Return the result of a chapter whose process left none."""
    if event["late"]:
        got = f"this cell was still running after {setting.timeout:g} seconds"
        remedy = "make it faster or raise claims_timeout in conf.py"
    elif event["code"] < 0:
        got = f"this cell killed its process by {signal.Signals(-event['code']).name}"
        remedy = "mend the cell or what it calls"
    else:
        got = f"this cell ended its process with exit code {event['code']}"
        remedy = "remove what ends the process"
    log = order.log.read_text(errors="replace").splitlines() if order.log.is_file() else []
    details = "\n".join([*filter(None, [progress.trouble.rstrip()]), *log[-LOG_LINES:]])
    text = f"the cells of a chapter must run to their end, but {got}; {remedy}"
    if details:
        text += "\n" + details
    return Execution(order.job.key, faults=(Fault("cell-error", progress.line, text),))
