"""Show which mutant kills which claim, as a heat map that is a table."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from .directives import claim_domain
from .elements import paragraph, row, table
from .index import claim_link
from .matrix import Effect
from .words import words

if TYPE_CHECKING:
    from docutils.nodes import Node

    from .matrix import Matrix

SIGNS = {Effect.KILLED: "●", Effect.SURVIVED: "", Effect.NO_VERDICT: "○"}


class ClaimMatrix(nodes.General, nodes.Element):
    """Place of the record; it is filled when the page is written."""


class ClaimMatrixDirective(SphinxDirective):
    """Shows the record of the last run of all claims under all mutants."""

    def run(self) -> list[Node]:
        """Return the place of the record."""
        claim_domain(self.env).indexes.add(self.env.docname)
        return [ClaimMatrix()]


class ResolveMatrix(SphinxPostTransform):
    """Fill the places of the record."""

    default_priority = 5  # before references are resolved: the record holds some

    def run(self, **kwargs: Any) -> None:
        """Fill every place of the page."""
        self.word = words(self.config.language)
        matrix = claim_domain(self.env).site.matrix
        for place in list(self.document.findall(ClaimMatrix)):
            if matrix is None:
                place.replace_self(paragraph(self.word("No run under mutants is recorded yet.")))
            else:
                place.replace_self(
                    [self._summary(matrix), self._heat_map(matrix), self._designs(matrix)]
                )

    def _summary(self, matrix: Matrix) -> nodes.paragraph:
        versions = ", ".join(f"{name} {version}" for name, version in matrix.versions.items())
        text = self.word("{claims} claims under {mutants} mutants, run on {day} with {versions}.")
        legend = self.word("● killed; empty: survived; ○ no verdict.")
        counts = {"claims": len(matrix.effects), "mutants": len(matrix.designs)}
        return paragraph(f"{text.format(**counts, day=matrix.day, versions=versions)} {legend}")

    def _heat_map(self, matrix: Matrix) -> nodes.Element:
        rows = []
        for slug, effects in matrix.effects.items():
            link = nodes.paragraph("", "", claim_link(slug, self.env.docname))
            rows.append(row(link, *[self._effect(effects[d.name]) for d in matrix.designs]))
        head = [self.word("Claim"), *[design.name for design in matrix.designs]]
        # Wide by nature: the frame scrolls, not the page.
        return nodes.container("", table(head, rows, "claim-matrix"), classes=["claim-wide"])

    def _effect(self, effect: Effect) -> nodes.paragraph:
        name = f"claim-effect-{effect.name.lower().replace('_', '-')}"
        return nodes.paragraph("", "", nodes.inline("", SIGNS[effect], classes=[name]))

    def _designs(self, matrix: Matrix) -> nodes.table:
        kills = Counter(name for slug in matrix.effects for name in matrix.killers(slug))
        rows = [row(d.name, d.summary, d.source, str(kills[d.name])) for d in matrix.designs]
        head = [self.word(title) for title in ("Mutant", "What it does wrong", "Source", "Kills")]
        return table(head, rows, "claim-designs", (24, 48, 36, 8))
