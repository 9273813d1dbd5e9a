"""Decide claims: the ``claim`` block that evidence cells use.

It works the same in a chapter, in a test and at the prompt, and needs nothing but Python:

    with claim("addition-commutes") as check:
        check.equal(3, 1 + 2)

A check that fails does not stop the block: all of them are wanted in the report. In a build the
evidence goes to the build, which gives the verdict. Elsewhere the block ends with an
AssertionError that lists every failed check.
"""

from __future__ import annotations

import math
import re
import sys
import time
import traceback
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .errors import EvidenceError
from .model import SLUG, Check, Evidence, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

LONGEST_TEXT = 2000
"""Values are shown up to this many characters: evidence is for reading."""

_collectors: list[Callable[[Evidence], None]] = []
_hasty: list[bool] = [False]


class _EnoughSeen(BaseException):
    """Ends a block whose verdict is known."""


@contextmanager
def collecting(collector: Callable[[Evidence], None], hasty: bool = False) -> Iterator[None]:
    """Send the evidence of the blocks run in this context to ``collector``.

    Args:
        collector: Called with the evidence of each block.
        hasty: Whether a block ends at the first check that got a wrong value.
    """
    _collectors.append(collector)
    _hasty.append(hasty)
    try:
        yield
    finally:
        _collectors.remove(collector)
        _hasty.pop()


class Checker:
    """The comparisons of one evidence block; the expected value comes first, as in a sentence."""

    def __init__(self) -> None:
        self.file, self.line = _caller()
        self.checks: list[Check] = []
        self.rows: list[Row] = []

    def equal(self, expected: object, actual: object, what: str = "") -> None:
        """Check that ``actual == expected``; arrays and tensors are compared as nested lists."""
        passed = _truth(_plain(expected) == _plain(actual))
        self._add(what or "equal", passed, shown(expected), shown(actual))

    def close(
        self, expected: Any, actual: Any, rtol: float = 1e-5, atol: float = 1e-8, what: str = ""
    ) -> None:
        """Check that numbers, nested lists of them or arrays are equal up to a tolerance.

        Args:
            expected: The right value.
            actual: The value observed; of the same shape.
            rtol: Allowed difference relative to the expected value.
            atol: Allowed absolute difference.
            what: What is compared, in words.
        """
        self._add(
            what or "close",
            _close(_plain(expected), _plain(actual), rtol, atol),
            f"{shown(expected)} within rtol={rtol:g}, atol={atol:g}",
            shown(actual),
        )

    def same(self, report: Any, what: str = "") -> None:
        """Check that a comparison of eager and static found no difference.

        Args:
            report: Has ``differences``, a sequence of sentences, and ``rows()``, which gives
                ``(what, eager, static, difference)`` for every quantity that was compared; the
                quantity ``error`` is the exception, or ``None``.
            what: What is compared, in words.
        """
        rows = [Row(*(str(part or "") for part in row)) for row in report.rows()]
        if what:
            rows = [replace(row, what=f"{what}: {row.what}") for row in rows]
        self.rows += rows
        differences = [str(difference) for difference in report.differences]
        got = "; ".join(differences) or f"{len(rows)} quantities, no difference"
        if not rows:
            got = "a report that compared nothing"
        wrong = [row for row in rows if row.difference]
        self._add(
            what or "eager and static agree",
            bool(rows) and not differences,
            "no difference",
            got,
            raised=bool(wrong) and all(map(_is_an_exception, wrong)),
        )

    def holds(self, condition: object, what: str) -> None:
        """Check that ``condition`` is true; ``what`` says what it means."""
        self._add(what, _truth(condition), "true", shown(condition))

    def raises(self, exception: type[BaseException], match: str = "", what: str = "") -> _Raises:
        """Return a context that must raise ``exception``, with a text that ``match`` finds."""
        return _Raises(self, exception, match, what)

    def _add(
        self,
        what: str,
        passed: bool,
        expected: str,
        got: str,
        line: int | None = None,
        raised: bool = False,
    ) -> None:
        line = _caller(self.file)[1] if line is None else line
        raised = raised and not passed
        self.checks.append(Check(what, passed, expected, got, line, raised))
        if _hasty[-1] and not passed and not raised:
            raise _EnoughSeen


class _Raises:
    def __init__(
        self, checker: Checker, exception: type[BaseException], match: str, what: str
    ) -> None:
        self._checker = checker
        self._exception = exception
        self._match = match
        self._what = what or f"raises {exception.__name__}"
        self.value: BaseException | None = None

    def __enter__(self) -> _Raises:
        self._line = _caller(self._checker.file)[1]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.value = value
        expected = self._exception.__name__
        if self._match:
            expected += f" matching {self._match!r}"
        right_type = isinstance(value, self._exception)
        passed = right_type and re.search(self._match, str(value)) is not None
        got = "no exception" if value is None else f"{type(value).__name__}: {value}"
        wrong_type = value is not None and not right_type
        self._checker._add(self._what, passed, expected, shorten(got), self._line, wrong_type)
        # Another type is not what the author reckoned with: the block must not go on as if it were.
        return right_type


@contextmanager
def claim(slug: str) -> Iterator[Checker]:
    """Decide the claim ``slug`` with the checks made in this block.

    Args:
        slug: Name of a claim of the same chapter.

    Yields:
        The checks: ``equal``, ``close``, ``same``, ``holds``, ``raises``.

    Raises:
        EvidenceError: ``slug`` is not the name of a claim.
        AssertionError: Outside of a build: a check failed, or none was made.
    """
    if not isinstance(slug, str) or not SLUG.fullmatch(slug):
        raise EvidenceError(
            f"the name of a claim must be lower-case words joined by hyphens, but got {slug!r}; "
            "write the slug of the claim directive"
        )
    checker = Checker()
    start = time.perf_counter()
    try:
        yield checker
    except _EnoughSeen:
        pass
    except Exception as error:
        # Recorded as a failed check, so that the other claims of the chapter are still decided.
        where = _raising_line(error, checker.file)
        got = f"{type(error).__name__}: {error}"
        what = "the block runs to its end"
        checker._add(what, False, "no exception", shorten(got), where, raised=True)
    seconds = time.perf_counter() - start
    _deliver(Evidence(slug, tuple(checker.checks), tuple(checker.rows), seconds, checker.line))


def _deliver(evidence: Evidence) -> None:
    if _collectors:
        _collectors[-1](evidence)
        return
    if not evidence.checks:
        raise AssertionError(
            f"claim {evidence.slug} must be decided by at least one check, but got none; "
            "call check.equal, check.close, check.same, check.holds or check.raises in the block"
        )
    if evidence.failures:
        raise AssertionError("\n".join(failure_lines(evidence)))


def failure_lines(evidence: Evidence) -> list[str]:
    """Return one line for each failed check of ``evidence``, for a reader of plain text."""
    return [
        f"claim {evidence.slug}: {check.what}: expected {check.expected}, but got {check.got} "
        f"(line {check.line})"
        for check in evidence.failures
    ]


def shown(value: object) -> str:
    """Return ``value`` as short text for an evidence table."""
    try:
        return shorten(value if isinstance(value, str) else repr(value))
    except Exception as error:  # a broken __repr__ must not hide the comparison
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"


def shorten(text: str) -> str:
    """Cut ``text`` to a length that a person reads."""
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def _truth(value: Any) -> bool:
    """Return whether a comparison holds, also when it gives an array of answers."""
    every = getattr(value, "all", None)
    return bool(every() if callable(every) else value)


def _plain(value: Any) -> Any:
    """Return ``value`` with every array or tensor in it replaced by nested lists of numbers."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    to_list = None if isinstance(value, type) else getattr(value, "tolist", None)
    return to_list() if callable(to_list) else value


def _close(expected: Any, actual: Any, rtol: float, atol: float) -> bool:
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(actual, (list, tuple))
            and len(expected) == len(actual)
            and all(_close(e, a, rtol, atol) for e, a in zip(expected, actual, strict=True))
        )
    if not isinstance(actual, (int, float, complex)):
        return False
    # Equality goes first: infinity minus infinity is not a number. Two of those are the same.
    if expected == actual or (expected != expected and actual != actual):
        return True
    return bool(abs(actual - expected) <= max(atol, rtol * abs(expected)) < math.inf)


def _is_an_exception(row: Row) -> bool:
    return row.what.rpartition(": ")[2] == "error" and row.eager == "None"


def _caller(file: str = "") -> tuple[str, int]:
    """Return file and line of the code that called this module.

    Args:
        file: The file wanted, when a function elsewhere may have made the call for it.
    """
    frames = list(traceback.walk_stack(sys._getframe(1)))
    own = (__file__, contextmanager.__code__.co_filename)
    outside = [
        (f.f_code.co_filename, line) for f, line in frames if f.f_code.co_filename not in own
    ]
    return next((place for place in outside if place[0] == file), outside[0])


def _raising_line(error: BaseException, file: str) -> int:
    """Return the innermost line of ``file`` that ``error`` passed."""
    lines = [
        line for f, line in traceback.walk_tb(error.__traceback__) if f.f_code.co_filename == file
    ]
    return lines[-1] if lines else 0
