"""Attributes that a traced function assigns and its hooks read: each run assigns them anew.

Tracing runs the Python of a function once, eager mode at each call. After `self.seen = []` a hook
would find the list of that one trace in every run. So each run assigns such an attribute what
tracing assigned. Where that could be something else than in eager mode, the hook is refused.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from . import captures, source
from .codes import stores_of
from .errors import UnsupportedHookError
from .renewal import CONTAINERS, is_state


@dataclass(frozen=True)
class Assigned:
    """What the functions assign that are being traced.

    Attributes:
        globals: names of globals.
        attributes: the identity of an object's attributes, None where the object is not known; and
            the attribute's name.
        updated: the attributes that may get another value in each run, or none.
        read: the names of the attributes that they read.
    """

    globals: set[str] = field(default_factory=set)
    attributes: set[tuple[int | None, str]] = field(default_factory=set)
    updated: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)


def assigned_in_trace() -> Assigned:
    """Look for what the functions assign in which a hook is being registered."""
    assigned = Assigned()
    for frame, function in source.traced_frames():
        stores = stores_of(function)
        assigned.globals.update(stores.globals)
        assigned.updated.update(stores.updated)
        assigned.read.update(stores.read)
        for variable, name in stores.attributes:
            owner = frame.f_locals.get(variable) if variable else None
            attributes = getattr(owner, "__dict__", None)
            if variable is None or attributes is not None:
                assigned.attributes.add((None if variable is None else id(attributes), name))
    return assigned


@dataclass(frozen=True)
class Assignment:
    """An attribute that each run assigns: its object's attributes, its name, and its content."""

    holder: dict[str, Any]
    name: str
    content: Any

    def repeat(self) -> None:
        """Assign it, as the traced function would."""
        self.holder[self.name] = copy.copy(self.content) if is_state(self.content) else self.content


def assignments(hook: Callable[..., Any], assigned: Assigned, site: str) -> Iterator[Assignment]:
    """List what each run has to assign before a hook runs.

    Args:
        hook: the hook as the user wrote it.
        assigned: what the traced functions assign.
        site: where the hook was registered.

    Raises:
        UnsupportedHookError: what eager mode would assign can't be known when tracing is over.
    """
    if not (assigned.globals or assigned.attributes):
        return
    names, objects = captures.read(hook)
    for name in names & assigned.globals:
        raise _refused(site, f"the global {name!r}")
    for holder, read in objects:
        for name in read & holder.keys():
            is_known = (id(holder), name) in assigned.attributes
            content = holder[name]
            if not is_known and (None, name) not in assigned.attributes:
                continue
            if captures.holds_values(content):
                continue
            if not is_known or name in assigned.updated or not _is_plain(content):
                raise _refused(site, f"the attribute {name!r}")
            yield Assignment(holder, name, copy.copy(content) if is_state(content) else content)


def check_handle(handle: Any, assigned: Assigned, site: str) -> None:
    """Refuse a hook on a parameter if the function looks at the handle, which tracing does once.

    Eager mode finds the handle of the call before, and removes that hook or registers no other.
    """
    if handle is None:
        return
    for holder in gc.get_referrers(handle):
        attributes = holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})
        for name in assigned.read & attributes.keys():
            if attributes[name] is handle:
                raise UnsupportedHookError(
                    f"hook registered at {site}: the handle of a hook on a parameter must not be "
                    f"read where it is registered, but the function reads the attribute {name!r}, "
                    "and tracing does so once; register the hook outside of the function"
                )


def _is_plain(content: Any) -> bool:
    """Tell what a shallow copy makes anew: all but iterators, objects, and containers of such."""
    items = content.values() if isinstance(content, dict) else content
    if isinstance(content, CONTAINERS):
        return not any(is_state(item) for item in items)
    return not is_state(content) and not isinstance(content, Iterator)


def _refused(site: str, what: str) -> UnsupportedHookError:
    return UnsupportedHookError(
        f"hook registered at {site}: what the hook reads must not depend on Python that the traced "
        f"function runs once, but the function assigns {what}; assign it outside of the function, "
        "or use a variable of the function"
    )
