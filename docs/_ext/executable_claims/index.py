"""The list of all claims, as a table that a reader filters in the page."""

from __future__ import annotations

from collections import Counter
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from .directives import claim_domain
from .elements import ClaimCard, html, paragraph, row, table, tag
from .words import words

if TYPE_CHECKING:
    from docutils.nodes import Node

    from .model import Decision


class ClaimIndex(nodes.General, nodes.Element):
    """Place of the list; it is filled when all verdicts are known."""


class ClaimIndexDirective(SphinxDirective):
    """Shows all claims of the site."""

    def run(self) -> list[Node]:
        """Return the place of the list."""
        claim_domain(self.env).indexes.add(self.env.docname)
        return [ClaimIndex()]


class ResolveIndex(SphinxPostTransform):
    """Fill the list of claims."""

    default_priority = 5  # before references are resolved: the list holds some

    def run(self, **kwargs: Any) -> None:
        """Fill every list of the page."""
        self.word = words(self.config.language)
        self._doctree = cache(self.env.get_doctree)
        for place in list(self.document.findall(ClaimIndex)):
            decisions = claim_domain(self.env).site.outcome.decisions
            place.replace_self(
                [self._totals(decisions), html(self._filter(decisions)), self._table(decisions)]
            )

    def _totals(self, decisions: list[Decision]) -> nodes.paragraph:
        counts = Counter(decision.verdict for decision in decisions)
        parts = [f"{count} {self.word(verdict.value)}" for verdict, count in counts.items()]
        total = self.word("{count} claims").format(count=len(decisions))
        return paragraph(f"{total}: {', '.join(parts)}." if parts else f"{total}.")

    def _filter(self, decisions: list[Decision]) -> str:
        """Return the form that the script shows and listens to."""
        columns = {
            "Kind": [self.word(decision.claim.kind.value) for decision in decisions],
            "Verdict": [self.word(decision.verdict.value) for decision in decisions],
            "Chapter": [self._chapter(decision) for decision in decisions],
        }
        choices = [self._choice(title, values) for title, values in columns.items()]
        search = f"<label>{escape(self.word('Search'))}{tag('input', type='search')}</label>"
        form = tag("form", **{"class": "claim-filter", "hidden": ""})
        return f"{form}{''.join(choices)}{search}<output></output></form>"

    def _choice(self, title: str, values: list[str]) -> str:
        first = f"{tag('option', value='')}{escape(self.word('all'))}</option>"
        options = [f"<option>{escape(value)}</option>" for value in dict.fromkeys(values)]
        select = f"<select>{first}{''.join(options)}</select>"
        return f"<label>{escape(self.word(title))}{select}</label>"

    def _table(self, decisions: list[Decision]) -> nodes.table:
        titles = ("Claim", "Kind", "Verdict", "Chapter")
        rows = [
            row(
                self._claim(decision),
                self.word(decision.claim.kind.value),
                self.word(decision.verdict.value),
                self._chapter(decision),
                name=f"claim-{decision.verdict.value}",
            )
            for decision in decisions
        ]
        return table(list(map(self.word, titles)), rows, "claim-index", (60, 12, 12, 24))

    def _chapter(self, decision: Decision) -> str:
        return str(self.env.titles[decision.claim.docname].astext())

    def _claim(self, decision: Decision) -> nodes.container:
        link = nodes.paragraph("", "", claim_link(decision.claim.slug, self.env.docname))
        return nodes.container("", link, self._sentence(decision))

    def _sentence(self, decision: Decision) -> nodes.Node:
        """Return the sentence as its own page shows it: with markup, in the build's language."""
        claim = decision.claim
        for card in self._doctree(claim.docname).findall(ClaimCard):
            if card["slug"] == claim.slug:
                copy = card[0].deepcopy()
                for reference in copy.findall(addnodes.pending_xref):
                    reference["refdoc"] = self.env.docname
                return copy
        return nodes.paragraph("", claim.sentence)


def claim_link(slug: str, docname: str) -> addnodes.pending_xref:
    """Return a link from the page ``docname`` to a claim."""
    return addnodes.pending_xref(
        "",
        nodes.literal("", slug),
        refdomain="claim",
        reftype="claim",
        reftarget=slug,
        refdoc=docname,
    )
