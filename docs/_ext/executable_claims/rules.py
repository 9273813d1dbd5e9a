"""Keep the rules of a project, the claims that state them and the cases that test them alike."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from .errors import ConfigurationError
from .matrix import FALSIFIABLE
from .model import Message
from .remarks import line_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .site import Site


def rule_faults(site: Site) -> Iterator[Message]:
    """Find rules without a claim or without cases, and cases without a rule."""
    location = site.settings.rules
    if not location:
        return
    rules = load_rules(location)
    line = line_of(site.root / "conf.py", location)
    for slug in sorted(rules):
        yield from _claim_faults(site, slug, line)
    if site.settings.cases:
        yield from _case_faults(site, rules, line)


def _claim_faults(site: Site, slug: str, line: int) -> Iterator[Message]:
    claim = site.claims.get(slug)
    if claim is None:
        text = (
            f"rule {slug} of {site.settings.rules} must have a claim of its name, but got none; "
            "write the claim in the chapter of its subject"
        )
        yield Message("rule", "conf.py", line, text)
    elif claim.kind not in FALSIFIABLE:
        kinds = ", ".join(sorted(kind.value for kind in FALSIFIABLE))
        text = (
            f"claim {slug} states a rule, so its kind must be one of {kinds}, but got "
            f"{claim.kind.value!r}; correct the kind, or rename the claim"
        )
        yield Message("rule", claim.docname, claim.line, text)


def _case_faults(site: Site, rules: set[str], line: int) -> Iterator[Message]:
    folder = site.settings.cases
    files = {path.stem.replace("_", "-"): path for path in (site.root / folder).glob("[!_]*.py")}
    for slug in sorted(rules - files.keys()):
        text = (
            f"rule {slug} of {site.settings.rules} must have cases, but there is no "
            f"{folder}/{slug.replace('-', '_')}.py; write it"
        )
        yield Message("rule", "conf.py", line, text)
    for slug in sorted(files.keys() - rules):
        text = (
            f"the cases must be of a rule of {site.settings.rules}, but got {slug!r}; add the rule "
            "or rename the file"
        )
        yield Message("rule", f"{folder}/{files[slug].name}", 1, text)


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
