"""Which mutant kills which claim: the proof that claims can fail, as data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from .blocks import cells_for
from .digest import digest
from .errors import UnreadableFileError
from .model import Kind, Message
from .store import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from .model import Cell, Claim
    from .site import Site

FALSIFIABLE = frozenset({Kind.PARITY, Kind.SAFER, Kind.LIMIT})
"""Kinds of claims about the project itself: a wrong design of it must turn them red."""


class Effect(str, Enum):
    """What a mutant does to a claim.

    KILLED: a check got a wrong value. RAISED: an exception came instead of a value, which also
    happens to a design that does nothing at all. UNTOUCHED: the claim uses no code that the mutant
    replaces. NO_VERDICT: the process ended, or took too long. UNTRIED: it was not run.
    """

    KILLED = "killed"
    RAISED = "raised"
    SURVIVED = "survived"
    UNTOUCHED = "untouched"
    NO_VERDICT = "no verdict"
    UNTRIED = "untried"


@dataclass(frozen=True)
class Design:
    """A mutant as the record names it; see :class:`executable_claims.mutants.Mutant`."""

    name: str
    summary: str
    source: str


@dataclass(frozen=True)
class Row:
    """What is recorded of a claim.

    Attributes:
        sources: Digest of the cells that decided it.
        effects: What each mutant did to it.
    """

    sources: str
    effects: dict[str, Effect]


@dataclass(frozen=True)
class Matrix:
    """The record of a run of all claims under all mutants.

    Attributes:
        day: Day of the run (``YYYY-MM-DD``).
        versions: Versions of Python and of the named distributions.
        packages: Digest of each folder of the project that was run.
        designs: The mutants.
        rows: What is recorded of each claim.
    """

    day: str
    versions: dict[str, str]
    packages: dict[str, str]
    designs: tuple[Design, ...]
    rows: dict[str, Row]

    def killers(self, slug: str) -> list[str]:
        """Return the mutants that make a claim come out wrong."""
        effects = self.rows[slug].effects
        return [name for name, effect in effects.items() if effect is Effect.KILLED]

    def killed(self, mutant: str) -> list[str]:
        """Return the claims that a mutant makes come out wrong."""
        return [slug for slug in self.rows if mutant in self.killers(slug)]

    def write(self, path: Path) -> None:
        """Write the record as JSON, one claim on a line, so that changes of it can be read."""
        data = asdict(self)
        rows = data.pop("rows")
        head = json.dumps(data, indent=1, ensure_ascii=False).removesuffix("\n}")
        lines = [f"  {json.dumps(slug)}: {json.dumps(row)}" for slug, row in rows.items()]
        write_atomically(path, head + ',\n "rows": {\n' + ",\n".join(lines) + "\n }\n}\n")

    @classmethod
    def read(cls, path: Path) -> Matrix:
        """Read a record.

        Raises:
            UnreadableFileError: The file is not one.
        """
        try:
            data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            data["designs"] = tuple(Design(**design) for design in data["designs"])
            data["rows"] = {slug: _row(**row) for slug, row in data["rows"].items()}
            return cls(**data)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnreadableFileError(
                f"{path} must be a record that the command falsify wrote, but reading it gave "
                f"{type(error).__name__}: {error}; run the command again"
            ) from error


def _row(sources: str, effects: dict[str, str]) -> Row:
    return Row(sources, {name: Effect(effect) for name, effect in effects.items()})


def falsifiable(site: Site) -> dict[str, Claim]:
    """Return the claims that mutants must kill."""
    return {
        slug: claim
        for slug, claim in site.claims.items()
        if claim.kind in FALSIFIABLE and not claim.untestable
    }


def sources_digest(cells: Sequence[Cell], slug: str) -> str:
    """Return the digest of the cells that decide a claim."""
    return digest([cell.source for cell in cells_for(cells, [slug])])[:16]


def unkilled(site: Site, matrix: Matrix) -> Iterator[Message]:
    """Find claims that no mutant kills, and mutants that kill no claim."""
    for slug, claim in falsifiable(site).items():
        if slug in matrix.rows and not matrix.killers(slug):
            text = (
                f"claim {slug} must be killed by at least one mutant, but all "
                f"{len(matrix.designs)} let it live; sharpen its checks, or add the wrong design "
                "that it excludes to claims_mutants"
            )
            yield Message("unfalsified", claim.docname, claim.line, text)
    for design in matrix.designs:
        if not matrix.killed(design.name):
            text = (
                f"mutant {design.name} must kill at least one claim, but kills none; remove it, or "
                "write the claim that excludes it"
            )
            yield Message("unfalsified", site.settings.matrix, 1, text)


def untried(site: Site, matrix: Matrix) -> Iterator[Message]:
    """Find claims that the record does not have.

    Apart from :func:`unkilled`, since a build must be possible while a claim is being written.
    """
    for slug, claim in falsifiable(site).items():
        if slug not in matrix.rows:
            text = (
                f"claim {slug} must have been tried under the mutants, but {site.settings.matrix} "
                "does not have it; run `make falsify`"
            )
            yield Message("unfalsified", claim.docname, claim.line, text)


def reworked(site: Site, matrix: Matrix) -> list[str]:
    """Return the claims that the record does not have as they are now."""
    return [
        slug
        for slug, claim in falsifiable(site).items()
        if slug not in matrix.rows
        or matrix.rows[slug].sources != sources_digest(site.pages[claim.docname].cells, slug)
    ]


def rebuilt(site: Site, matrix: Matrix) -> list[str]:
    """Return the folders of the project that changed since the record was made."""
    now = site.look_around().packages
    return [name for name, value in now.items() if matrix.packages.get(name) != value]
