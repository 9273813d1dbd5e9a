"""Run a program eagerly and as a static graph, with and without its hooks, and judge it.

Verdicts:

- `same`: with its hooks the static graph did what eager mode did;
- `base-wrong`: it did not, and Paddle's static graph is wrong without any hook;
- `invalid`: eager mode refuses the program, or its numbers are not finite;
- `refused`: the static graph said with an UnsupportedHookError that it can't do the same;
- `mismatch`: the static graph did something else than eager mode;
- `crash`, `hang`: it killed its process, or did not end.
"""

from __future__ import annotations

import linecache
import math
import tempfile
import types
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import paddle
from static_hooks import enabled
from static_hooks.mutants import MUTANTS
from static_hooks.runs import compiling, told

from .lines import Program, source_of, without_hooks

RELATIVE, ABSOLUTE = 1e-6, 1e-8
FAILURES = ("mismatch", "crash", "hang")
# Where two operations of Paddle's race (an in-place one on what an `if` hands through), the control
# is wrong in some of its runs only.
_CONTROLS = 40


@dataclass(frozen=True)
class Verdict:
    """What came of one program.

    Attributes:
        kind: see the module.
        detail: what differs, in words.
        graphs: how many graphs SOT compiled without and with hooks.
    """

    kind: str
    detail: str = ""
    graphs: tuple[int, int] = (0, 0)

    @property
    def sign(self) -> str:
        """What two failures of the same kind have in common."""
        is_about_numbers = self.detail.startswith(("calls:", "result "))
        return self.kind + (self.detail[:6] if is_about_numbers else self.detail)


@dataclass(frozen=True)
class Played:
    """What a session returned and logged, or the exception that ended it."""

    results: Any = None
    log: Any = None
    error: str | None = None
    graphs: int = 0


def judge(program: Program, mode: str, mutant: str = "") -> Verdict:
    """Judge one program in one static mode.

    Args:
        program: the module.
        mode: "ast" or "sot".
        mutant: the deliberately wrong design of `static_hooks` to judge, if not the right one.
    """
    with MUTANTS[mutant].apply() if mutant else nullcontext(), enabled():
        return _judge(program, mode)


def _judge(program: Program, mode: str) -> Verdict:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        hooked = _write(program, Path(folder) / "hooked.py")
        right = _play(hooked, "eager")
        refused = right.error and not right.error.startswith("RuntimeError: Cannot register hook")
        if refused or not _finite([right.results, right.log]):
            return Verdict("invalid", right.error or "not finite")
        got = _play(hooked, mode)
        difference = _difference(right, got)
        if mode == "ast" and not difference:
            return Verdict("same")
        twin = _write(without_hooks(program), Path(folder) / "unhooked.py")
        return _against(twin, mode, difference, got)


def _against(twin: Path, mode: str, difference: str, got: Played) -> Verdict:
    """Judge with the control: the same program without hooks."""
    right = _play(twin, "eager")
    if right.error or not _finite(right.results):
        return Verdict("invalid", right.error or "not finite")
    for _ in range(_CONTROLS if difference else 1):
        control = _play(twin, mode)
        if wrong := _difference(right, control):
            return Verdict("base-wrong", wrong)
        if got.error and "UnsupportedHookError" in got.error:
            return Verdict("refused", got.error)
    return Verdict("mismatch" if difference else "same", difference, (control.graphs, got.graphs))


def _write(program: Program, path: Path) -> Path:
    path.write_text(source_of(program))
    return path


def _play(path: Path, mode: str) -> Played:
    """Load a module anew and run its session."""
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    linecache.checkcache(module.__file__)
    counting = compiling() if mode == "sot" else nullcontext({"graphs": 0})
    with warnings.catch_warnings(), counting as counts:
        warnings.simplefilter("ignore")
        try:
            exec(compile(path.read_text(), module.__file__, "exec"), module.__dict__)
            results, log = _plain([module.session(_converter(mode)), module.LOG])
        except Exception as error:  # whatever it is, the other mode has to do the same
            return Played(error=told(error))
    return Played(results, log, graphs=counts["graphs"])


def _converter(mode: str) -> Callable[[Any], Any]:
    if mode == "eager":
        return lambda function: function
    return lambda function: paddle.jit.to_static(function, full_graph=mode == "ast")


def _plain(found: Any) -> Any:
    """Turn tensors into numbers."""
    if isinstance(found, paddle.Tensor):
        return found.tolist()
    if isinstance(found, (list, tuple)):
        return [_plain(item) for item in found]
    return found


def _finite(found: Any) -> bool:
    if isinstance(found, list):
        return all(map(_finite, found))
    return not isinstance(found, float) or (math.isfinite(found) and abs(found) < 1e12)


def _difference(right: Played, got: Played) -> str:
    """Say where two runs differ; nothing if they do not."""
    if right.error or got.error:
        return (
            ""
            if right.error == got.error
            else f"must end in {right.error} but ended in {got.error}"
        )
    if not _same(right.log, got.log):
        return f"calls: must be {right.log} but got {got.log}"
    for index, pair in enumerate(zip(right.results, got.results, strict=True)):
        if not _same(*pair):
            return f"result {index}: must be {pair[0]} but got {pair[1]}"
    return ""


def _same(must: Any, got: Any) -> bool:
    if must is None:  # Paddle gives an unused input of a static graph zeros
        return got is None or not np.any(got)
    if isinstance(must, list) and isinstance(got, list):
        return len(must) == len(got) and all(map(_same, must, got))
    if isinstance(must, float) and isinstance(got, float):
        return math.isclose(must, got, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return type(must) is type(got) and must == got
