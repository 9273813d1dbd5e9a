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
from .matrix import Effect, rebuilt, reworked
from .words import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docutils.nodes import Node

    from .matrix import Matrix

SIGNS = {
    Effect.KILLED: "●",
    Effect.RAISED: "▲",
    Effect.SURVIVED: "",
    Effect.UNTOUCHED: "·",
    Effect.NO_VERDICT: "○",
    Effect.UNTRIED: "?",
}


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
                    [
                        self._summary(matrix),
                        *self._changes(matrix),
                        self._heat_map(matrix),
                        self._designs(matrix),
                    ]
                )

    def _summary(self, matrix: Matrix) -> nodes.paragraph:
        versions = ", ".join(f"{name} {version}" for name, version in matrix.versions.items())
        text = self.word("{claims} claims under {mutants} mutants, run on {day} with {versions}.")
        legend = self.word(
            "● killed by a check; ▲ an exception came instead of a value; empty: survived; "
            "· uses no code of the mutant; ○ no verdict; ? not tried."
        )
        counts = {"claims": len(matrix.rows), "mutants": len(matrix.designs)}
        return paragraph(f"{text.format(**counts, day=matrix.day, versions=versions)} {legend}")

    def _changes(self, matrix: Matrix) -> Iterator[nodes.paragraph]:
        """Say what is not any more as it was when the record was made."""
        site = claim_domain(self.env).site
        folders, claims = rebuilt(site, matrix), reworked(site, matrix)
        if folders:
            text = self.word("Changed since this run: {names}.").format(names=", ".join(folders))
            yield paragraph(text, name="claim-changed")
        if claims:
            sentence = paragraph(self.word("New or decided otherwise since this run:"))
            for slug in claims:
                sentence += [nodes.Text(" "), claim_link(slug, self.env.docname)]
            yield sentence

    def _heat_map(self, matrix: Matrix) -> nodes.Element:
        rows = []
        known = claim_domain(self.env).site.claims
        for slug in [slug for slug in matrix.rows if slug in known]:
            recorded = matrix.rows[slug]
            link = nodes.paragraph("", "", claim_link(slug, self.env.docname))
            effects = [self._effect(recorded.effects[d.name]) for d in matrix.designs]
            rows.append(row(link, *effects))
        head = [self.word("Claim"), *[design.name for design in matrix.designs]]
        # Wide by nature: the frame scrolls, not the page.
        return nodes.container("", table(head, rows, "claim-matrix"), classes=["claim-wide"])

    def _effect(self, effect: Effect) -> nodes.paragraph:
        name = f"claim-effect-{effect.name.lower().replace('_', '-')}"
        return nodes.paragraph("", "", nodes.inline("", SIGNS[effect], classes=[name]))

    def _designs(self, matrix: Matrix) -> nodes.table:
        rows = []
        for design in matrix.designs:
            seen = Counter(recorded.effects[design.name] for recorded in matrix.rows.values())
            counts = [str(seen[effect]) for effect in (Effect.KILLED, Effect.RAISED)]
            rows.append(row(design.name, design.summary, design.source, *counts))
        titles = ("Mutant", "What it does wrong", "Source", "Kills", "Raises")
        head = list(map(self.word, titles))
        return table(head, rows, "claim-designs", (24, 48, 36, 8, 8))
