"""What a mutant is, and how one is written down."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import paddle

from ..registration import Registration

OURS = "made for this project: a slip that a reimplementation can easily make"

# (function, called when the mutant would make a difference) -> what stands there while watching
Watcher = Callable[[Any, Callable[[], None]], Any]
# (owner, attribute, what stands there while the mutant is applied, and possibly a Watcher)
Replacements = Iterator[tuple[Any, ...]]


@dataclass(frozen=True)
class Mutant:
    """One wrong design.

    Attributes:
        name: its name in commands and in the matrix.
        summary: what it does, in one sentence.
        source: the public thread where this design was built or proposed, or why it is here.
        apply: gives the context in which it is in force; enter it before `static_hooks.enable()`.
        watch: gives the context in which nothing changes, and which calls its argument whenever
            the mutant would make a difference.
    """

    name: str
    summary: str
    source: str
    apply: Callable[[], AbstractContextManager[Any]]
    watch: Callable[[Callable[[], None]], AbstractContextManager[Any]]


MUTANTS: dict[str, Mutant] = {}


def mutant(
    summary: str, source: str = OURS
) -> Callable[[Callable[[], Replacements]], Callable[[], Replacements]]:
    """Add a mutant: the decorated function lists its replacements, its name is the mutant's."""

    def add(function: Callable[[], Replacements]) -> Callable[[], Replacements]:
        @contextmanager
        def apply() -> Iterator[None]:
            with ExitStack() as stack:
                for owner, attribute, new, *_ in function():
                    stack.enter_context(mock.patch.object(owner, attribute, new))
                yield

        @contextmanager
        def watch(on_use: Callable[[], None]) -> Iterator[None]:
            with ExitStack() as stack:
                for owner, attribute, _, *watcher in function():
                    old = getattr(owner, attribute, None) or getattr(builtins, attribute)
                    new = (watcher or [when()])[0](old, on_use)
                    stack.enter_context(mock.patch.object(owner, attribute, new))
                yield

        name = function.__name__.replace("_", "-")
        MUTANTS[name] = Mutant(name, summary, source, apply, watch)
        return function

    return add


def when(differs: Callable[..., Any] = lambda *arguments, **options: True) -> Watcher:
    """Watch the calls whose arguments `differs` accepts. A class counts as used at once."""

    def watcher(function: Any, on_use: Callable[[], None]) -> Any:
        if isinstance(function, type):
            on_use()
            return function

        @paddle.jit.marker.unified
        @functools.wraps(function)
        def watched(*arguments: Any, **options: Any) -> Any:
            if differs(*arguments, **options):
                on_use()
            return function(*arguments, **options)

        return watched

    return watcher


def when_result(differs: Callable[[Any], Any]) -> Watcher:
    """Watch the calls whose result `differs` accepts, and those that raise."""

    def watcher(function: Any, on_use: Callable[[], None]) -> Any:
        @paddle.jit.marker.unified
        @functools.wraps(function)
        def watched(*arguments: Any, **options: Any) -> Any:
            differing = True
            try:
                result = function(*arguments, **options)
                differing = differs(result)
                return result
            finally:
                if differing:
                    on_use()

        return watched

    return watcher


NEVER = when(lambda *arguments, **options: False)
WHEN_RAISED = when_result(lambda result: False)


def each_hook(
    wrap: Callable[[Callable[..., Any]], Callable[..., Any]],
    differs: Callable[[Any], Any] = lambda placed: True,
) -> Replacements:
    """Let `wrap(hook)` run wherever a hook would; it matters for those that `differs` accepts."""
    look = Registration.look

    def wrapped(self: Any, registry: Any) -> Any:
        placed = look(self, registry)
        return replace(placed, hook=wrap(placed.hook))

    yield Registration, "look", wrapped, when_result(differs)
