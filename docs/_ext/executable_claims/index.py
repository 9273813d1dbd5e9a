"""The list of all claims, as a table that a reader filters in the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.locale import get_translation
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from .cards import verdict_name
from .directives import ClaimCard, claim_domain

if TYPE_CHECKING:
    from docutils.nodes import Node

    from .model import Decision

_ = get_translation("executable_claims")


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
        for place in list(self.document.findall(ClaimIndex)):
            place.replace_self(self._list())

    def _list(self) -> list[nodes.Node]:
        decisions = claim_domain(self.env).site.outcome.decisions
        counts = {d.verdict: 0 for d in decisions}
        for decision in decisions:
            counts[decision.verdict] += 1
        parts = [f"{count} {verdict_name(verdict)}" for verdict, count in counts.items()]
        total = _("{count} claims").format(count=len(decisions))
        summary = nodes.paragraph(
            "", ": ".join([total, ", ".join(parts)]), classes=["claim-totals"]
        )
        return [summary, self._table(decisions)]

    def _table(self, decisions: list[Decision]) -> nodes.table:
        head = (_("Claim"), _("Kind"), _("Verdict"), _("Sentence"), _("Chapter"))
        group = nodes.tgroup(cols=len(head))
        group += [nodes.colspec(colwidth=1) for _column in head]
        cells = [nodes.entry("", nodes.paragraph("", text)) for text in head]
        group += nodes.thead("", nodes.row("", *cells))
        group += nodes.tbody("", *map(self._row, decisions))
        return nodes.table("", group, classes=["claim-index"])

    def _row(self, decision: Decision) -> nodes.row:
        claim = decision.claim
        title = self.env.titles[claim.docname].astext()
        cells = [
            nodes.paragraph("", "", self._link(claim.slug)),
            nodes.paragraph("", claim.kind.value),
            nodes.paragraph("", verdict_name(decision.verdict)),
            *self._sentence(decision),
            nodes.paragraph("", title),
        ]
        classes = [f"claim-{decision.verdict.value}"]
        return nodes.row("", *[nodes.entry("", cell) for cell in cells], classes=classes)

    def _link(self, slug: str) -> addnodes.pending_xref:
        return addnodes.pending_xref(
            "",
            nodes.literal("", slug),
            refdomain="claim",
            reftype="claim",
            reftarget=slug,
            refdoc=self.env.docname,
        )

    def _sentence(self, decision: Decision) -> list[nodes.Node]:
        """Return the sentence as its own page shows it: with markup, in the build's language."""
        claim = decision.claim
        for card in self.env.get_doctree(claim.docname).findall(ClaimCard):
            if card["slug"] == claim.slug:
                copy = card[0].deepcopy()
                for reference in copy.findall(addnodes.pending_xref):
                    reference["refdoc"] = self.env.docname
                return [copy]
        return [nodes.paragraph("", claim.sentence)]
