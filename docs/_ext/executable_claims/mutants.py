"""Mutants: deliberately wrong designs of what a project documents, under which claims must fail.

A project names its mutants in one mapping, the setting ``claims_mutants`` (``module:attribute``),
from the name of each to an object like :class:`Mutant`.
"""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, cast

from .errors import ConfigurationError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Mutant(Protocol):
    """A wrong design that can be applied by name, without editing files.

    Attributes:
        name: Its name.
        summary: What it does wrong, in one sentence.
        source: Where this wrong design is known from: a public address or a sentence.
        apply: Gives a context in which the wrong design is in force.
    """

    name: str
    summary: str
    source: str
    apply: Callable[[], AbstractContextManager[Any]]


def load_mutants(location: str) -> Mapping[str, Mutant]:
    """Import the mapping of mutants that ``location`` (``module:attribute``) names.

    Raises:
        ConfigurationError: There is no such mapping.
    """
    if not location:
        raise ConfigurationError(
            "claims_mutants must name the mutants of the project, but it is not set; set it in "
            "conf.py to use mutants"
        )
    module, _, attribute = location.partition(":")
    try:
        mutants = getattr(importlib.import_module(module), attribute)
        return cast("Mapping[str, Mutant]", dict(mutants))
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"claims_mutants must name a mapping as module:attribute, but got {location!r} "
            f"({type(error).__name__}: {error}); correct it in conf.py"
        ) from error


def applied(mutant: Mapping[str, str] | None) -> AbstractContextManager[Any]:
    """Return the context of a mutant, or an empty one.

    Args:
        mutant: ``location`` of the mapping and ``name`` of the mutant, or None for none.
    """
    if mutant is None:
        return nullcontext()
    mutants = load_mutants(mutant["location"])
    if mutant["name"] not in mutants:
        raise UnknownNameError(
            "a mutant", mutant["name"], mutants, "`python -m executable_claims list --mutants`"
        )
    return mutants[mutant["name"]].apply()
