"""Judge programs in a child process, so that a crash or a hang is a verdict and not the end."""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from .generator import generate
from .judge import Verdict, judge
from .lines import Program

# A server that has imported Paddle and run nothing; each child starts from it in milliseconds.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["static_hooks", __name__])
SECONDS = 60
_PROGRAMS = 100  # Paddle keeps some memory of each program that it traces


class Child:
    """A process that judges one program after the other, and is replaced when it dies.

    Args:
        mode: the static mode.
        mutant: the deliberately wrong design to judge, if not the right one.
    """

    def __init__(self, mode: str, mutant: str = "") -> None:
        self.mode, self.mutant = mode, mutant
        self._process: Any = None
        self._connection: Any = None
        self._judged = 0

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def judge(self, work: Program | str) -> Verdict:
        """Judge a program, or the program of a seed."""
        if self._process is None or self._judged == _PROGRAMS:
            self._end()
            self._start()
        self._judged += 1
        self._connection.send(work)
        if not self._connection.poll(SECONDS):
            self._end()
            return Verdict("hang", f"no answer within {SECONDS} s")
        try:
            verdict: Verdict = self._connection.recv()
            return verdict
        except EOFError:
            self._process.join()
            code = self._process.exitcode
            self._end()
            return Verdict("crash", f"the process ended with code {code}")

    def _start(self) -> None:
        self._connection, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(theirs, self.mode, self.mutant))
        self._process.start()
        theirs.close()
        self._judged = 0

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None


def _serve(requests: Connection, mode: str, mutant: str) -> None:
    """Judge in this process; what Paddle prints about it is of no interest."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    while True:
        work = requests.recv()
        program = generate(work) if isinstance(work, str) else work
        requests.send(judge(program, mode, mutant))
