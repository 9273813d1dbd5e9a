"""What the variables of a hook that is registered in a branch will hold when backward runs.

Eager mode reads a hook's variables then, so a later assignment counts. AST conversion traces the
branches of an `if` one after the other and puts the variables back in between: after it they hold
the results of the `if`, or nothing. So what they hold is noted where a branch ends, and only an
assignment after the `if` replaces it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .captures import Slot
from .surfaces import UndefinedVar, Value

_INSIDE = object()
# What is followed in each branch that is being traced, outermost first.
_local = threading.local()


class Followed:
    """A place that a hook in a branch reads, with the content that it will read there."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self._left: Any = _INSIDE  # what the place held when control had left the branch

    def end_branch(self) -> None:
        """Note the content where a branch ends."""
        if self._left is _INSIDE or self._is_assigned():
            self.slot.refresh()

    def leave(self) -> None:
        """Note what conversion puts into the place behind an `if`."""
        self._left = self.slot.get_or(self._left)

    def finish(self, is_outside: bool) -> None:
        """Settle the content; tracing is over.

        Args:
            is_outside: whether the hooked tensor is one from outside of the branch. Its hook can't
                see what is made in the branch, but what the `if` returns for it.
        """
        if self._left is _INSIDE or isinstance(self.slot.get_or(None), UndefinedVar):
            return
        if is_outside or self._is_assigned():
            self.slot.refresh()

    def _is_assigned(self) -> bool:
        return not _same(self.slot.get_or(self._left), self._left)


def _same(found: Any, other: Any) -> bool:
    if isinstance(found, Value) and isinstance(other, Value):
        return bool(found.is_same(other))
    both = isinstance(found, UndefinedVar) and isinstance(other, UndefinedVar)
    return both or found is other


def follow(slots: Iterable[Slot]) -> list[Followed]:
    """Follow the places that a hook reads, to the end of every branch that is being traced."""
    followed = [Followed(slot) for slot in slots]
    for branch in _branches():
        branch += followed
    return followed


def around_ifelse(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap what a converted `if` calls, to follow the variables of the hooks in its branches."""

    def convert_ifelse(pred: Any, true_fn: Any, false_fn: Any, *args: Any, **kwargs: Any) -> Any:
        with _collecting() as followed:
            result = original(pred, _ending(true_fn), _ending(false_fn), *args, **kwargs)
        for place in followed:
            place.leave()
        return result

    return convert_ifelse


def _ending(branch: Callable[[], Any]) -> Callable[[], Any]:
    def traced() -> Any:
        with _collecting() as followed:
            result = branch()
        for place in followed:
            place.end_branch()
        return result

    return traced


@contextmanager
def _collecting() -> Iterator[list[Followed]]:
    followed: list[Followed] = []
    _branches().append(followed)
    try:
        yield followed
    finally:
        _branches().pop()


def _branches() -> list[list[Followed]]:
    branches: list[list[Followed]] = _local.__dict__.setdefault("branches", [])
    return branches
