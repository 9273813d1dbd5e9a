"""What a mutant is, and how one is written down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from ..registration import Registration

OURS = "made for this project: a slip that a reimplementation can easily make"

# (owner, attribute, what stands there while the mutant is applied)
Replacements = Iterator[tuple[Any, str, Any]]


@dataclass(frozen=True)
class Mutant:
    """One wrong design.

    Attributes:
        name: its name in commands and in the matrix.
        summary: what it does, in one sentence.
        source: the public thread where this design was built or proposed, or why it is here.
        apply: gives the context in which it is in force; enter it before `static_hooks.enable()`.
    """

    name: str
    summary: str
    source: str
    apply: Callable[[], AbstractContextManager[Any]]


MUTANTS: dict[str, Mutant] = {}


def mutant(
    summary: str, source: str = OURS
) -> Callable[[Callable[[], Replacements]], Callable[[], Replacements]]:
    """Add a mutant: the decorated function lists its replacements, its name is the mutant's."""

    def add(function: Callable[[], Replacements]) -> Callable[[], Replacements]:
        @contextmanager
        def apply() -> Iterator[None]:
            with ExitStack() as stack:
                for owner, attribute, new in function():
                    stack.enter_context(mock.patch.object(owner, attribute, new))
                yield

        name = function.__name__.replace("_", "-")
        MUTANTS[name] = Mutant(name, summary, source, apply)
        return function

    return add


def each_hook(wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Replacements:
    """Let `wrap(hook)` run wherever a hook would."""
    look = Registration.look

    def wrapped(self: Any, registry: Any) -> Any:
        placed = look(self, registry)
        return replace(placed, hook=wrap(placed.hook))

    yield Registration, "look", wrapped
