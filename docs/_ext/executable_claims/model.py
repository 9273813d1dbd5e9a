"""What the extension talks about: claims, evidence, verdicts and messages.

Plain data without Sphinx, so that a cell, a test and the command line share it with the build.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""A slug is lower-case words joined by single hyphens."""


class Kind(str, Enum):
    """What a claim is about."""

    PARITY = "parity"
    SAFER = "safer"
    LIMIT = "limit"
    STATUS_QUO = "status-quo"
    PEER = "peer"
    PERFORMANCE = "performance"


RECORDABLE = frozenset({Kind.PEER, Kind.PERFORMANCE})
"""Kinds whose evidence may be recorded elsewhere, with a date and a reason."""


class Verdict(str, Enum):
    """What the evidence of a build says about a claim."""

    HOLDS = "holds"
    REGRESSED = "regressed"
    UNDECIDED = "undecided"
    RECORDED = "recorded"
    UNTESTABLE = "untestable"


FINE = frozenset({Verdict.HOLDS, Verdict.RECORDED, Verdict.UNTESTABLE})
"""Verdicts with which a build passes."""


@dataclass(frozen=True)
class Check:
    """One comparison inside an evidence block.

    Attributes:
        what: What was compared, in words.
        passed: Whether the comparison came out as the claim says.
        expected: The right value as text.
        got: The value that was observed, as text.
        line: Line of the chapter (or of the file) that made the comparison.
        raised: Whether it failed since an exception came instead of a value.
    """

    what: str
    passed: bool
    expected: str
    got: str
    line: int
    raised: bool = False


@dataclass(frozen=True)
class Row:
    """One line of an evidence table: the same quantity in eager and in static mode."""

    what: str
    eager: str
    static: str
    difference: str


@dataclass(frozen=True)
class Evidence:
    """What one ``with claim(slug)`` block observed.

    Attributes:
        slug: The claim that the block decides.
        checks: Every comparison that it made, in order.
        rows: Eager against static, quantity by quantity.
        seconds: Time that the block took.
        line: Line where the block starts.
        cell: Index of the notebook cell that holds the block.
    """

    slug: str
    checks: tuple[Check, ...]
    rows: tuple[Row, ...] = ()
    seconds: float = 0.0
    line: int = 0
    cell: int = -1

    @property
    def failures(self) -> tuple[Check, ...]:
        """The comparisons that did not come out as the claim says."""
        return tuple(check for check in self.checks if not check.passed)

    def to_json(self) -> dict[str, Any]:
        """Return this evidence as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Evidence:
        """Return the evidence that :meth:`to_json` wrote."""
        checks = tuple(Check(**check) for check in data["checks"])
        rows = tuple(Row(**row) for row in data["rows"])
        return cls(**{**data, "checks": checks, "rows": rows})


@dataclass(frozen=True)
class Claim:
    """A sentence of a chapter that could be false.

    Attributes:
        slug: Its name everywhere: anchor, test, command line.
        kind: What it is about.
        sentence: The sentence in the source language, as written.
        docname: The page that makes it.
        line: Line of its directive, counted from 1.
        threads: References to public threads, such as ``paddle#48234``.
        recorded: Date of recorded evidence (``YYYY-MM-DD``), or nothing.
        untestable: Date on which it was found that no cell can decide it, or nothing.
        reason: Why no cell decides it, or nothing.
        accepted: The thread that accepted it, or nothing.
        accepted_digest: Digest of the sentence that was accepted.
    """

    slug: str
    kind: Kind
    sentence: str
    docname: str
    line: int
    threads: tuple[str, ...] = ()
    recorded: str = ""
    untestable: str = ""
    reason: str = ""
    accepted: str = ""
    accepted_digest: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return this claim as JSON values."""
        return {**asdict(self), "kind": self.kind.value, "threads": list(self.threads)}

    @property
    def sentence_digest(self) -> str:
        """Digest of the sentence: an acceptance counts for these words and no others."""
        return hashlib.sha256(self.sentence.encode()).hexdigest()[:8]

    @property
    def is_accepted(self) -> bool:
        """Whether the sentence, as it stands, was accepted."""
        return bool(self.accepted) and self.accepted_digest == self.sentence_digest


@dataclass(frozen=True)
class Message:
    """A finding that the author must act on.

    Attributes:
        subtype: Its kind, such as ``regressed``; shown as ``[claims.regressed]``.
        docname: The page concerned, or the file when it is not a page.
        line: Line of that file.
        text: What must be, what was got, and how to proceed.
    """

    subtype: str
    docname: str
    line: int
    text: str


@dataclass(frozen=True)
class Decision:
    """A claim with its verdict and the evidence behind it."""

    claim: Claim
    verdict: Verdict
    evidence: Evidence | None = None


@dataclass(frozen=True)
class Cell:
    """A code cell of a chapter.

    Attributes:
        index: Its index among all cells of the notebook.
        source: Its code.
        line: Line of the chapter that holds the first line of the code.
        tags: Its tags.
        options: All of its options, tags included.
    """

    index: int
    source: str
    line: int
    tags: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reference:
    """A mention of a claim in the text of a page."""

    slug: str
    docname: str
    line: int
