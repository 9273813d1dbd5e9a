"""Find mistakes in claims without running a cell: quick enough to run before every commit.

The same judge decides as in a build. It is given the evidence that the cells' text promises:
every ``claim("slug")`` that is written in a cell counts as evidence that passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .blocks import BLOCK
from .decide import decide
from .matrix import untried
from .model import Check, Evidence, Message
from .remarks import remarks
from .rules import rule_faults
from .store import Execution

if TYPE_CHECKING:
    from .chapters import Page
    from .site import Site

PROMISED = (Check("promised", True, "", "", 0),)


def lint(site: Site) -> list[Message]:
    """Return what is wrong with the claims of a site, as far as its text tells."""
    promised = {name: _promised(page) for name, page in site.chapters.items()}
    computing = {name for name, page in site.chapters.items() if _computes_slugs(page)}
    messages = [
        message
        for message in decide(site.pages, promised).messages
        # A slug that is computed can't be read from the text, so nothing is said of its absence.
        if not (message.subtype == "undecided" and message.docname in computing)
    ]
    messages += remarks(site)
    messages += rule_faults(site)
    if site.matrix:
        messages += untried(site, site.matrix)
    return sorted(messages, key=lambda message: (message.docname, message.line))


def _promised(page: Page) -> Execution:
    evidence = tuple(
        Evidence(
            match["slug"],
            PROMISED,
            line=cell.line + cell.source.count("\n", 0, match.start()),
            cell=cell.index,
        )
        for cell in page.cells
        for match in BLOCK.finditer(cell.source)
        if match["slug"] is not None
    )
    return Execution("", evidence=evidence)


def _computes_slugs(page: Page) -> bool:
    return any(match["computed"] for cell in page.cells for match in BLOCK.finditer(cell.source))
