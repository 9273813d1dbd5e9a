"""Find mistakes in claims without running a cell: quick enough to run before every commit.

The same judge decides as in a build. It is given the evidence that the cells' text promises:
every ``claim("slug")`` that is written in a cell counts as evidence that passes.
"""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

from .decide import decide
from .errors import ConfigurationError
from .matrix import outdated
from .model import Check, Evidence, Message
from .remarks import line_of, remarks
from .store import Execution

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .chapters import Page
    from .site import Site

BLOCK = re.compile(r"""\bclaim\(\s*(?:(["'])(?P<slug>[^"']*)\1|(?P<computed>[^"'\s)]))""")
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
    messages += _rules_without_claims(site)
    if site.matrix:
        messages += outdated(site, site.matrix)
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


def _rules_without_claims(site: Site) -> Iterator[Message]:
    """Find rules of the project that no claim states."""
    location = site.settings.rules
    if not location:
        return
    line = line_of(site.root / "conf.py", location)
    for slug in sorted(load_rules(location)):
        if slug not in site.claims:
            text = (
                f"rule {slug} of {location} must have a claim of its name, but got none; write the "
                "claim in the chapter of its subject"
            )
            yield Message("rule", "conf.py", line, text)


def load_rules(location: str) -> set[str]:
    """Import the rules that ``location`` (``module:attribute``) names.

    Returns:
        The slugs: the items of a collection, or of all groups of a mapping from group to slugs.

    Raises:
        ConfigurationError: There is no such collection.
    """
    module, _, attribute = location.partition(":")
    try:
        found: Mapping[str, Iterable[str]] | Iterable[str]
        found = getattr(importlib.import_module(module), attribute)
        groups = found.values() if hasattr(found, "values") else [found]
        return {slug for group in groups for slug in group}
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigurationError(
            f"claims_rules must name slugs as module:attribute, but got {location!r} "
            f"({type(error).__name__}: {error}); correct it in conf.py"
        ) from error
