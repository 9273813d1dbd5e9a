"""Ways from a page to its discussion: a link at each section, and the map of questions."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from .directives import claim_domain
from .elements import html, row, table, tag
from .index import claim_link
from .words import words

if TYPE_CHECKING:
    from docutils.nodes import Node

    from .discuss import Question


class DiscussionMap(nodes.General, nodes.Element):
    """Place of the map; it is filled when all verdicts are known."""


class DiscussionMapDirective(SphinxDirective):
    """Shows what was asked in the known threads, and what answers it."""

    def run(self) -> list[Node]:
        """Return the place of the map."""
        domain = claim_domain(self.env)
        domain.indexes.add(self.env.docname)
        if domain.site.settings.threads:
            self.env.note_dependency(str(domain.site.root / domain.site.settings.threads))
        return [DiscussionMap()]


class ResolveDiscussions(SphinxPostTransform):
    """Fill the maps of questions, and add a link to the title of every section of a chapter."""

    default_priority = 5  # before references are resolved: the map holds some

    def run(self, **kwargs: Any) -> None:
        """Add the links and fill every map of the page."""
        self.word = words(self.config.language)
        for place in list(self.document.findall(DiscussionMap)):
            place.replace_self(self._map())
        domain = claim_domain(self.env)
        if domain.desk.repository and self.env.docname in domain.site.chapters:
            for section in self.document.findall(nodes.section):
                self._link(section)

    def _map(self) -> nodes.table:
        questions = claim_domain(self.env).site.threads.questions
        head = [self.word(title) for title in ("Question", "Thread", "Answer")]
        rows = [row(q.text, self._thread(q), self._answer(q)) for q in questions]
        return table(head, rows, "claim-discussions", (48, 20, 32))

    def _thread(self, question: Question) -> nodes.paragraph:
        threads = claim_domain(self.env).site.threads
        thread = threads.find(question.thread)
        if thread is None:  # reported already, with the place in the data file
            return nodes.paragraph("", question.thread)
        link = nodes.reference("", thread.name, refuri=thread.url, reftitle=thread.title)
        return nodes.paragraph("", "", link)

    def _answer(self, question: Question) -> nodes.paragraph:
        """Return what answers a question: a claim with its verdict, a page, or nothing yet."""
        if question.claim:
            decision = claim_domain(self.env).site.outcome.by_slug.get(question.claim)
            verdict = f" ({self.word(decision.verdict.value)})" if decision else ""
            link = claim_link(question.claim, self.env.docname)
            return nodes.paragraph("", "", link, nodes.Text(verdict))
        if question.page:
            link = addnodes.pending_xref(
                "",
                nodes.inline("", question.page),
                refdomain="std",
                reftype="doc",
                reftarget=f"/{question.page}",
                refdoc=self.env.docname,
                refexplicit=False,
            )
            return nodes.paragraph("", "", link)
        return nodes.paragraph("", self.word("open"), classes=["claim-open"])

    def _link(self, section: nodes.section) -> None:
        """Add the link to a section's title: HTML only, so that search and contents stay clean."""
        anchor = section["ids"][0]
        title = section[0].astext()
        desk = claim_domain(self.env).desk
        url = desk.section_issue_url(self.env.docname, anchor, title)
        label = f"{self.word('Discuss this section')}: {title}"
        attributes = {"class": "claim-discuss-section", "href": url, "title": label}
        link = f"{tag('a', **attributes)}{escape(self.word('Discuss'))}</a>"
        section.insert(1, html(f'<p class="claim-section-actions">{link}</p>'))
