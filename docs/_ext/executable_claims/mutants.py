"""Mutants: deliberately wrong designs of what a project documents, under which claims must fail.

A project names its mutants in one mapping, the setting ``claims_mutants`` (``module:attribute``),
from the name of each to an object like :class:`Mutant`.
"""

from __future__ import annotations

import importlib
import mmap
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from .errors import ConfigurationError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


class Mutant(Protocol):
    """A wrong design that can be applied by name, without editing files.

    Attributes:
        name: Its name.
        summary: What it does wrong, in one sentence.
        source: Where this wrong design is known from: a public address or a sentence.
        apply: Gives a context in which the wrong design is in force.
        watch: Gives a context in which the right design is in force, and which calls its argument
            whenever code is used that ``apply`` would replace.
    """

    name: str
    summary: str
    source: str
    apply: Callable[[], AbstractContextManager[Any]]
    watch: Callable[[Callable[[], None]], AbstractContextManager[Any]]


class Reach:
    """Which mutants each claim would notice: those whose code it uses.

    A mutant that is used in a cell without a block counts for all claims of the chapter: later
    blocks build on what that cell made.

    Args:
        names: The mutants.

    Attributes:
        by_claim: The names of the mutants, by claim.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.by_claim: dict[str, list[str]] = {}
        self._names = list(names)
        # Shared with the processes that a cell forks.
        self._used = mmap.mmap(-1, len(self._names) + 1)
        self._shared: set[str] = set()

    def note(self, name: str) -> None:
        """Note that code of a mutant was used."""
        self._used[self._names.index(name)] = 1

    def end_block(self, slug: str) -> None:
        """Put what was used down to a claim."""
        self.by_claim[slug] = sorted(self._take() | self._shared)

    def end_cell(self) -> None:
        """Put what was used since the last block down to all claims that follow."""
        self._shared |= self._take()

    def _take(self) -> set[str]:
        used = {name for name, flag in zip(self._names, self._used[:-1], strict=True) if flag}
        self._used[:] = bytes(len(self._used))
        return used


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


@contextmanager
def watching(location: str) -> Iterator[Reach]:
    """Give a context in which no mutant is in force, and the use of each is noted."""
    mutants = load_mutants(location)
    reach = Reach(mutants)
    with ExitStack() as stack:
        for name, mutant in mutants.items():
            stack.enter_context(mutant.watch(partial(reach.note, name)))
        yield reach


def applied(location: str, name: str) -> AbstractContextManager[Any]:
    """Return the context of the mutant ``name``.

    Raises:
        UnknownNameError: There is none of that name.
    """
    mutants = load_mutants(location)
    if name not in mutants:
        raise UnknownNameError(
            "a mutant", name, mutants, "`python -m executable_claims list --mutants`"
        )
    return mutants[name].apply()
