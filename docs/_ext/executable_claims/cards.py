"""Show a claim: its sentence, verdict and evidence, and how to reproduce and discuss it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from .directives import claim_domain
from .elements import ClaimCard, Folded, html, paragraph, row, table, tag, value
from .words import words

if TYPE_CHECKING:
    from collections.abc import Callable

    from .model import Claim, Decision, Evidence


class ResolveCards(SphinxPostTransform):
    """Fill the cards of a page, when all verdicts are known."""

    default_priority = 5  # before references are resolved: the sentence may hold some

    def run(self, **kwargs: Any) -> None:
        """Fill every card of the page."""
        self.word = words(self.config.language)
        domain = claim_domain(self.env)
        decisions = domain.site.outcome.by_slug
        for card in list(self.document.findall(ClaimCard)):
            decision = decisions.get(card["slug"])
            # A claim without a decision is malformed or misplaced, which has been reported.
            if decision and decision.claim.docname == self.env.docname:
                self._fill(card, decision)

    def _fill(self, card: ClaimCard, decision: Decision) -> None:
        claim, evidence = decision.claim, decision.evidence
        execution = claim_domain(self.env).site.executions.get(claim.docname)
        versions = execution.versions if execution else {}
        card["classes"] += [f"claim-{decision.verdict.value}", f"claim-kind-{claim.kind.value}"]
        card.insert(0, self._head(decision))
        card += paragraph(" · ".join(self._facts(decision, versions)), name="claim-facts")
        if claim.reason:
            card += paragraph(f"{self.word('Why no cell decides it')}: {claim.reason}")
        if evidence and (evidence.checks or evidence.rows):
            card += evidence_block(evidence, self.word)
        card += self._actions(decision, versions)

    def _head(self, decision: Decision) -> nodes.paragraph:
        claim = decision.claim
        title = self.word("Link to this claim")
        link = tag("a", href=f"#{claim.slug}", title=title, **{"class": "headerlink"}) + "#</a>"
        return paragraph(
            nodes.inline("", self.word(decision.verdict.value), classes=["claim-verdict"]),
            " ",
            nodes.inline("", self.word(claim.kind.value), classes=["claim-kind"]),
            " ",
            nodes.literal("", claim.slug, classes=["claim-slug"]),
            html(link),
            name="claim-head",
        )

    def _facts(self, decision: Decision, versions: dict[str, str]) -> list[str]:
        """Return versions, number of checks and time, or the day of recording; and the state."""
        claim, evidence = decision.claim, decision.evidence
        facts = [f"{name} {version}" for name, version in versions.items() if name != "python"]
        if claim.recorded:
            facts = [self.word("recorded {day}").format(day=claim.recorded)]
        if claim.untestable:
            facts = [self.word("untestable since {day}").format(day=claim.untestable)]
        if evidence:
            facts.append(self.word("{count} checks").format(count=len(evidence.checks)))
            facts.append(f"{evidence.seconds:.2f} s")
        return [*facts, review_state(claim, self.word)]

    def _actions(self, decision: Decision, versions: dict[str, str]) -> nodes.Element:
        """Return the row of things to do: reproduce, discuss, read what was said."""
        desk = claim_domain(self.env).desk
        command = desk.reproduce(decision.claim.slug)
        actions = paragraph(
            f"{self.word('Reproduce')}: ",
            nodes.literal("", command, classes=["claim-command"]),
            html(self._copy_button(command)),
            name="claim-actions",
        )
        if desk.repository:
            url = desk.issue_url(decision, versions)
            actions += nodes.Text(" ")
            actions += nodes.reference("", self.word("Discuss"), refuri=url)
        for thread in filter(None, map(desk.threads.find, decision.claim.threads)):
            actions += nodes.Text(" ")
            actions += nodes.reference("", thread.name, refuri=thread.url, reftitle=thread.title)
        return actions

    def _copy_button(self, command: str) -> str:
        """Return a button that the script shows: without it, it could do nothing."""
        label = self.word("Copy")
        attributes = {
            "type": "button",
            "class": "claim-copy",
            "data-copy": command,
            "data-done": self.word("Copied"),
            "aria-label": f"{label}: {command}",
            "hidden": "",
        }
        return f"{tag('button', **attributes)}{escape(label)}</button>"


def review_state(claim: Claim, word: Callable[[str], str]) -> str:
    """Return how far the sentence has come with its readers, in words."""
    if claim.is_accepted:
        return word("accepted in {thread}").format(thread=claim.accepted)
    if claim.accepted:
        changed = word("wording changed since {thread}").format(thread=claim.accepted)
        return f"{word('proposed')} ({changed})"
    return word("proposed")


def evidence_block(evidence: Evidence, word: Callable[[str], str]) -> Folded:
    """Return the evidence of a claim as tables that a reader unfolds."""
    block = Folded(summary=word("Evidence"))
    if evidence.rows:
        rows = [
            row(r.what, value(r.eager), value(r.static), word(r.difference or "none"))
            for r in evidence.rows
        ]
        head = [word(title) for title in ("Quantity", "Eager", "Static", "Difference")]
        block += table(head, rows, "claim-rows")
    checks = [
        row(c.what, value(c.expected), value(c.got), word("passed" if c.passed else "failed"))
        for c in evidence.checks
    ]
    head = [word(title) for title in ("Check", "Expected", "Got", "Result")]
    block += table(head, checks, "claim-checks")
    return block
