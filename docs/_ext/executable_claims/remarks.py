"""Find what is wrong with a site that its text alone tells, besides the claims themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import close_names, suggestion
from .matrix import unkilled
from .model import Message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .discuss import Question
    from .site import Site


def remarks(site: Site) -> Iterator[Message]:
    """Say what is wrong; no cell needs to run for that."""
    yield from _stored_outputs(site)
    yield from _unknown_threads(site)
    yield from _questions(site)
    if site.matrix:
        yield from unkilled(site, site.matrix)


def _stored_outputs(site: Site) -> Iterator[Message]:
    for file in site.notebooks:
        text = (
            "a chapter must be a Markdown page, whose cells run in every build, but got a "
            "notebook file, which shows the outputs stored in it; convert it"
        )
        yield Message("silent-pass", file, 1, text)


def _unknown_threads(site: Site) -> Iterator[Message]:
    for page in site.pages.values():
        for claim in page.claims:
            for name in (*claim.threads, *filter(None, [claim.accepted])):
                if site.threads.find(name) is None:
                    text = f"the threads of claim {claim.slug} {_thread_form(site, name)}"
                    yield Message("malformed", page.docname, claim.line, text)


def _thread_form(site: Site, name: str) -> str:
    known = ", ".join(site.threads.repositories) or "none"
    return (
        "must be repository#number, with a repository of claims_threads "
        f"({known}), but got {name!r}; correct it"
    )


def _questions(site: Site) -> Iterator[Message]:
    """Check the map of questions in the data file."""
    file = site.settings.threads
    for question in site.threads.questions:
        line = line_of(site.root / file, question.text)
        for subtype, text in _question_faults(site, question):
            yield Message(subtype, file, line, text)


def _question_faults(site: Site, question: Question) -> Iterator[tuple[str, str]]:
    if site.threads.find(question.thread) is None:
        yield "malformed", f"the thread of a question {_thread_form(site, question.thread)}"
    if question.claim and question.page:
        yield (
            "malformed",
            "a question must be answered by a claim or by a page, but got both; remove one",
        )
    if question.claim and question.claim not in site.claims:
        hint = suggestion(close_names(question.claim, site.claims))
        yield (
            "unknown",
            f"the answer to a question must be a claim, but got {question.claim!r}; {hint}"
            "correct the name, or leave the question open",
        )
    if question.page and question.page not in site.pages:
        hint = suggestion(close_names(question.page, site.pages))
        yield (
            "unknown",
            f"the answer to a question must be a page, but got {question.page!r}; {hint}"
            "correct the name, or leave the question open",
        )


def line_of(file: Path, text: str) -> int:
    """Return the first line of ``file`` that holds the beginning of ``text``, or 1."""
    lines = file.read_text(encoding="utf-8").splitlines()
    beginning = " ".join(text.split())[:40]
    return next((number for number, line in enumerate(lines, 1) if beginning in line), 1)
