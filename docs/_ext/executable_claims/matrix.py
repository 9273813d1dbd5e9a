"""Which mutant kills which claim: the proof that claims can fail, as data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from .digest import digest
from .errors import UnreadableFileError
from .model import Kind, Message
from .store import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .digest import Surroundings
    from .model import Claim
    from .site import Site

FALSIFIABLE = frozenset({Kind.PARITY, Kind.SAFER, Kind.LIMIT})
"""Kinds of claims about the project itself: a wrong design of it must turn them red."""


class Effect(str, Enum):
    """What a mutant does to a claim."""

    KILLED = "killed"
    SURVIVED = "survived"
    NO_VERDICT = "no verdict"


@dataclass(frozen=True)
class Design:
    """A mutant as the record names it; see :class:`executable_claims.mutants.Mutant`."""

    name: str
    summary: str
    source: str


@dataclass(frozen=True)
class Matrix:
    """The record of a run of all claims under all mutants.

    Attributes:
        basis: Digest of the sources that ran; the record is of these and no others.
        day: Day of the run (``YYYY-MM-DD``).
        versions: Versions of Python and of the named distributions.
        designs: The mutants.
        effects: What each mutant did, by claim and by mutant.
    """

    basis: str
    day: str
    versions: dict[str, str]
    designs: tuple[Design, ...]
    effects: dict[str, dict[str, Effect]]

    def killers(self, slug: str) -> list[str]:
        """Return the mutants that kill a claim."""
        return [name for name, effect in self.effects[slug].items() if effect is Effect.KILLED]

    def killed(self, mutant: str) -> list[str]:
        """Return the claims that a mutant kills."""
        return [slug for slug in self.effects if mutant in self.killers(slug)]

    def write(self, path: Path) -> None:
        """Write the record as JSON, one claim on a line, so that changes of it can be read."""
        data = asdict(self)
        effects = data.pop("effects")
        head = json.dumps(data, indent=1, ensure_ascii=False).removesuffix("\n}")
        rows = [f"  {json.dumps(slug)}: {json.dumps(row)}" for slug, row in effects.items()]
        write_atomically(path, head + ',\n "effects": {\n' + ",\n".join(rows) + "\n }\n}\n")

    @classmethod
    def read(cls, path: Path) -> Matrix:
        """Read a record.

        Raises:
            UnreadableFileError: The file is not one.
        """
        try:
            data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            data["designs"] = tuple(Design(**design) for design in data["designs"])
            data["effects"] = {
                slug: {name: Effect(effect) for name, effect in row.items()}
                for slug, row in data["effects"].items()
            }
            return cls(**data)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnreadableFileError(
                f"{path} must be a record that the command falsify wrote, but reading it gave "
                f"{type(error).__name__}: {error}; run the command again"
            ) from error


def falsifiable(site: Site) -> dict[str, Claim]:
    """Return the claims that mutants must kill."""
    return {
        slug: claim
        for slug, claim in site.claims.items()
        if claim.kind in FALSIFIABLE and not claim.untestable
    }


def basis(site: Site, around: Surroundings) -> str:
    """Return the digest of the sources on which a run under mutants depends."""
    pages = sorted({claim.docname for claim in falsifiable(site).values()})
    cells = {name: [cell.source for cell in site.pages[name].cells] for name in pages}
    return digest([cells, around.packages, around.files])


def unkilled(site: Site, matrix: Matrix) -> Iterator[Message]:
    """Find claims that no mutant kills, and mutants that kill no claim."""
    for slug, claim in falsifiable(site).items():
        if slug in matrix.effects and not matrix.killers(slug):
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


def outdated(site: Site, matrix: Matrix) -> Iterator[Message]:
    """Find out whether the record is of the claims and sources as they are."""
    for slug, claim in falsifiable(site).items():
        if slug not in matrix.effects:
            text = (
                f"claim {slug} must have been tried under the mutants, but {site.settings.matrix} "
                "does not have it; run the command falsify"
            )
            yield Message("unfalsified", claim.docname, claim.line, text)
    if matrix.basis != basis(site, site.look_around()):
        text = (
            "the record must be of the sources as they are, but they changed since; run the "
            "command falsify"
        )
        yield Message("unfalsified", site.settings.matrix, 1, text)
