"""Show a claim: its sentence, verdict and evidence, and how to reproduce and discuss it."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.locale import get_translation
from sphinx.transforms.post_transforms import SphinxPostTransform

from .directives import ClaimCard, claim_domain
from .model import Decision, Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sphinx.application import Sphinx

_ = get_translation("executable_claims")
STATIC = Path(__file__).parent / "static"


class Folded(nodes.General, nodes.Element):
    """Content that a reader unfolds. Its attribute ``summary`` is always visible."""


def add_nodes(app: Sphinx) -> None:
    """Add the nodes of cards; outside of HTML their content is plain text and tables."""
    plain: Any = dict.fromkeys(("latex", "text", "man", "texinfo"), (_nothing, _nothing))
    app.add_node(ClaimCard, html=(_open_card, _close_card), **plain)
    app.add_node(Folded, html=(_open_folded, _close_folded), **plain)
    app.connect("builder-inited", lambda app: app.config.html_static_path.append(str(STATIC)))


def _nothing(translator: Any, node: nodes.Element) -> None:
    pass


def _open_card(translator: Any, node: nodes.Element) -> None:
    label = escape(f"{_('Claim')} {node['slug']}", quote=True)
    classes = escape(" ".join(["claim", *node["classes"]]))
    translator.body.append(
        f'<article class="{classes}" id="{node["ids"][0]}" aria-label="{label}">\n'
    )


def _close_card(translator: Any, node: nodes.Element) -> None:
    translator.body.append("</article>\n")


def _open_folded(translator: Any, node: nodes.Element) -> None:
    translator.body.append(
        f'<details class="claim-evidence"><summary>{escape(node["summary"])}</summary>\n'
    )


def _close_folded(translator: Any, node: nodes.Element) -> None:
    translator.body.append("</details>\n")


class ResolveCards(SphinxPostTransform):
    """Fill the cards of a page, when all verdicts are known."""

    default_priority = 5  # before references are resolved: the sentence may hold some

    def run(self, **kwargs: Any) -> None:
        """Fill every card of the page."""
        decisions = claim_domain(self.env).site.outcome.by_slug
        for card in list(self.document.findall(ClaimCard)):
            decision = decisions.get(card["slug"])
            # A claim without a decision is malformed or misplaced, which has been reported.
            if decision and decision.claim.docname == self.env.docname:
                self._fill(card, decision)

    def _fill(self, card: ClaimCard, decision: Decision) -> None:
        claim = decision.claim
        card["classes"] += [f"claim-{decision.verdict.value}", f"claim-kind-{claim.kind.value}"]
        card.insert(0, _headline(decision))
        versions = self._versions(decision)
        card += nodes.paragraph("", _facts(decision, versions), classes=["claim-facts"])
        if claim.reason:
            card += nodes.paragraph("", f"{_('Recorded because')}: {claim.reason}")
        if decision.evidence and (decision.evidence.checks or decision.evidence.rows):
            card += evidence_block(decision.evidence)
        card += self._actions(decision, versions)

    def _versions(self, decision: Decision) -> dict[str, str]:
        execution = claim_domain(self.env).site.executions.get(decision.claim.docname)
        return execution.versions if execution else {}

    def _actions(self, decision: Decision, versions: dict[str, str]) -> nodes.Element:
        """Return the row of things to do: reproduce, discuss, read what was said."""
        desk = claim_domain(self.env).desk
        command = nodes.literal("", desk.reproduce(decision.claim.slug), classes=["claim-command"])
        label = nodes.Text(f"{_('Reproduce')}: ")
        row = nodes.paragraph("", "", label, command, classes=["claim-actions"])
        if desk.repository:
            url = desk.issue_url(decision, versions)
            row += nodes.Text(" ")
            row += nodes.reference("", _("Discuss"), refuri=url, classes=["claim-discuss"])
        for thread in filter(None, map(desk.threads.find, decision.claim.threads)):
            row += nodes.Text(" ")
            row += nodes.reference("", thread.name, refuri=thread.url, reftitle=thread.title)
        return row


def _headline(decision: Decision) -> nodes.paragraph:
    claim = decision.claim
    parts: list[nodes.Node] = [
        nodes.inline("", verdict_name(decision.verdict), classes=["claim-verdict"]),
        nodes.Text(" "),
        nodes.inline("", claim.kind.value, classes=["claim-kind"]),
        nodes.Text(" "),
        nodes.literal("", claim.slug, classes=["claim-slug"]),
    ]
    title = escape(_("Link to this claim"), quote=True)
    link = f'<a class="headerlink" href="#{claim.slug}" title="{title}">#</a>'
    return nodes.paragraph(
        "", "", *parts, nodes.raw("", link, format="html"), classes=["claim-head"]
    )


def verdict_name(verdict: Verdict) -> str:
    """Return the word for a verdict in the language of the build."""
    names = {
        Verdict.HOLDS: _("holds"),
        Verdict.REGRESSED: _("regressed"),
        Verdict.UNDECIDED: _("undecided"),
        Verdict.RECORDED: _("recorded"),
        Verdict.UNTESTABLE: _("untestable"),
    }
    return names[verdict]


def _facts(decision: Decision, versions: dict[str, str]) -> str:
    """Return versions, number of checks and time, or the day of recording."""
    evidence = decision.evidence
    parts = [f"{name} {version}" for name, version in versions.items() if name != "python"]
    parts += (
        [_("recorded {day}").format(day=decision.claim.recorded)] if decision.claim.recorded else []
    )
    if evidence:
        parts.append(_("{count} checks").format(count=len(evidence.checks)))
        parts.append(f"{evidence.seconds:.2f} s")
    return " · ".join(parts)


def evidence_block(evidence: Evidence) -> Folded:
    """Return the evidence of a claim as tables that a reader unfolds."""
    block = Folded(summary=_("Evidence"))
    if evidence.rows:
        head = (_("Quantity"), _("Eager"), _("Static"), _("Difference"))
        rows = [(r.what, r.eager, r.static, r.difference or _("none")) for r in evidence.rows]
        block += table(head, rows, "claim-rows")
    head = (_("Check"), _("Expected"), _("Got"), _("Result"))
    checks = [
        (c.what, c.expected, c.got, _("passed") if c.passed else _("failed"))
        for c in evidence.checks
    ]
    block += table(head, checks, "claim-checks")
    return block


def table(head: Sequence[str], rows: Iterable[Sequence[str]], name: str) -> nodes.table:
    """Return a table: words in the first and last column, values in between."""
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _column in head]
    group += nodes.thead(
        "", nodes.row("", *[nodes.entry("", nodes.paragraph("", t)) for t in head])
    )
    body = nodes.tbody()
    for row in rows:
        last = len(row) - 1
        body += nodes.row(
            "",
            *[
                nodes.entry(
                    "", nodes.paragraph("", "", _value(text) if 0 < i < last else nodes.Text(text))
                )
                for i, text in enumerate(row)
            ],
        )
    group += body
    return nodes.table("", group, classes=[name])


def _value(text: str) -> nodes.Element:
    return nodes.literal("", text)
