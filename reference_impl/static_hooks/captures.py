"""What a hook's body reaches of the forward graph, and how it gets the real thing when it runs.

In eager mode a closure over a forward intermediate holds a tensor. While `to_static` traces, it
holds a `Value`: a name for a tensor that exists only when the program runs, and of a program that
Paddle clones before it builds the backward. So a body can't run with what its closure holds. `find`
lists the *slots* (closure cells, container items, attributes, defaults) that hold a `Value`;
`swapped` puts other objects into them for the time of one call: the clone's values when a body is
traced, real tensors when it is called back. Slots are filled in place, so lists and counters that
the body shares keep identity.

A list or dict that the caller passes to a static function has the same fate: the traced function
sees a copy. A slot that holds such a copy is filled with the container that the caller passed in
that run.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any

from paddle.nn import Layer

from .codes import contents, globals_of, is_data, names_of, with_methods
from .surfaces import UndefinedVar, Value

# A body reaches further than this only through data structures that no hook needs.
_DEPTH = 6
# One call at a time: slots are shared by every call of a hook.
_LOCK = RLock()


class Slot:
    """A place that holds a `Value`, a tuple with one, or the copy of an argument container."""

    def __init__(self, holder: Any, key: Any, argument: int | None = None) -> None:
        self.holder, self.key, self.argument = holder, key, argument
        self.content = self.get()

    def get(self) -> Any:
        """Return what the place holds."""
        return self.holder.cell_contents if self.key is _CELL else self.holder[self.key]

    def get_or(self, default: Any) -> Any:
        """Return what the place holds, or `default` if it is gone."""
        try:
            return self.get()
        except (LookupError, AttributeError, ValueError):
            return default

    def holds(self, content: Any) -> bool:
        """Tell whether the place is still there, and holds `content`."""
        return self.get_or(_GONE) is content

    def refresh(self) -> None:
        """Note anew what the place holds."""
        self.content = self.get_or(self.content)

    def set(self, content: Any) -> None:
        """Put `content` into the place."""
        if self.key is _CELL:
            self.holder.cell_contents = content
        else:
            self.holder[self.key] = content

    def filled(self, supply: Iterator[Any], arguments: Sequence[Any]) -> Any:
        """Return what the slot holds during a call."""
        if self.argument is not None:
            return arguments[self.argument] if arguments else self.content
        return _rebuilt(self.content, supply)


_CELL = object()
_GONE = object()
_WHOLE = (tuple, set, frozenset, functools.partial)


def find(hook: Callable[..., Any], containers: Sequence[Any] = ()) -> list[Slot]:
    """List the slots of `hook`, in a fixed order.

    Args:
        hook: the hook as the user wrote it.
        containers: the copies of the lists and dicts that were passed to the traced function.
    """
    return _found(hook, containers).slots


def _found(hook: Any, containers: Sequence[Any] = ()) -> _Finder:
    finder = _Finder({id(container): index for index, container in enumerate(containers)})
    finder.visit(hook, frozenset(), _DEPTH)
    return finder


def read(hook: Callable[..., Any]) -> tuple[set[str], list[tuple[dict[str, Any], frozenset[str]]]]:
    """Return the globals that `hook` reads, and the attributes of objects that it may read."""
    finder = _found(hook)
    objects = []
    for attributes, kind, names in finder.objects:
        # A call of a layer would lead to all that its forward reads, but hooks call no layer.
        called = names if issubclass(kind, Layer) else names | {"__call__"}
        objects.append((attributes, with_methods(kind, called)))
    return finder.globals, objects


def holds_values(content: Any) -> bool:
    """Tell whether a `Value` can be reached from `content`."""
    return bool(_found((content,)).slots) or any(True for _ in _leaves(content))


def values(slots: Sequence[Slot]) -> list[Value]:
    """List the values that the slots hold, one entry per occurrence."""
    return [value for slot in slots if slot.argument is None for value in _leaves(slot.content)]


def undefined_names(hook: Callable[..., Any]) -> list[str]:
    """List the free variables that AST conversion took back when it left a branch."""
    code, closure = getattr(hook, "__code__", None), getattr(hook, "__closure__", None) or ()
    named = zip(code.co_freevars, closure, strict=True) if code else ()
    return [name for name, cell in named if isinstance(contents(cell), UndefinedVar)]


def containers_in(arguments: Sequence[Any]) -> list[Any]:
    """List every list and dict in a call's arguments, outermost first."""
    return [found for argument in arguments for found in _containers(argument)]


def _containers(found: Any) -> Iterator[Any]:
    if isinstance(found, (list, dict)):
        yield found
    if isinstance(found, (list, tuple, dict)):
        for item in found.values() if isinstance(found, dict) else found:
            yield from _containers(item)


@contextmanager
def swapped(
    slots: Sequence[Slot], replacements: Sequence[Any], arguments: Sequence[Any] = ()
) -> Iterator[None]:
    """Fill `slots` for the time of a call, and put back what was there.

    Args:
        slots: what `find` returned.
        replacements: one object for each of `values(slots)`.
        arguments: the containers that the caller passed in this run, if the call belongs to one.
    """
    if not slots:
        yield
        return
    with _LOCK:
        before = [slot.get() for slot in slots]
        supply = iter(replacements)
        filled = [slot.filled(supply, arguments) for slot in slots]
        for slot, content in zip(slots, filled, strict=True):
            slot.set(content)
        try:
            yield
        finally:
            for slot, content, old in zip(slots, filled, before, strict=True):
                if slot.holds(content):  # the body may have rebound it, as a `nonlocal` does
                    slot.set(old)


def _leaves(content: Any) -> Iterator[Value]:
    if isinstance(content, Value):
        yield content
    elif isinstance(content, _WHOLE):
        for item in _items_of(content):
            yield from _leaves(item)


def _items_of(content: Any) -> tuple[Any, ...]:
    """List what an object holds that can't be filled in place, so that it is made anew."""
    if isinstance(content, functools.partial):
        return (content.func, *content.args, *content.keywords.values())
    return tuple(content)


def _rebuilt(content: Any, supply: Iterator[Any]) -> Any:
    if isinstance(content, Value):
        return next(supply)
    if isinstance(content, tuple):
        items = [_rebuilt(item, supply) for item in content]
        return getattr(type(content), "_make", tuple)(items)  # a named tuple stays one
    if isinstance(content, (set, frozenset)) and any(True for _ in _leaves(content)):
        return type(content)([_rebuilt(item, supply) for item in content])
    if isinstance(content, functools.partial) and any(True for _ in _leaves(content)):
        arguments = [_rebuilt(item, supply) for item in content.args]
        keywords = {name: _rebuilt(item, supply) for name, item in content.keywords.items()}
        return functools.partial(content.func, *arguments, **keywords)
    return content


class _Finder:
    def __init__(self, containers: dict[int, int]) -> None:
        self.slots: list[Slot] = []
        self.globals: set[str] = set()
        self.objects: list[tuple[dict[str, Any], type, frozenset[str]]] = []
        self._containers = containers
        self._seen: set[tuple[int, frozenset[str]]] = set()

    def visit(self, found: Any, names: frozenset[str], depth: int) -> None:
        """Look into `found`; of an object, only at attributes that the code reads: `names`."""
        if depth == 0 or (id(found), names) in self._seen:
            return
        self._seen.add((id(found), names))
        if isinstance(found, types.FunctionType):
            self._function(found, depth)
        elif isinstance(found, types.MethodType):
            self.visit(found.__func__, names, depth)
            self.visit(found.__self__, names | names_of(found.__func__), depth)
        elif isinstance(found, (list, deque)):
            self._items(dict(enumerate(found)), names, depth, found)
        elif isinstance(found, dict):
            self._items(found, names, depth)
        elif isinstance(found, _WHOLE):
            for item in _items_of(found):
                self.visit(item, names, depth - 1)
        elif not isinstance(found, (types.ModuleType, Value)):
            self._object(found, names, depth)

    def _function(self, function: types.FunctionType, depth: int) -> None:
        names = names_of(function)
        for cell in function.__closure__ or ():
            self._slot(cell, _CELL, contents(cell), names, depth)
        if function.__defaults__:
            for index, content in enumerate(function.__defaults__):
                if any(True for _ in _leaves(content)):
                    self._slot(_Defaults(function), index, content, names, depth)
        self._items(function.__kwdefaults__ or {}, names, depth)
        names_read, module = globals_of(function), function.__globals__
        self.globals |= names_read
        read = {name: module[name] for name in names_read & module.keys()}
        self._items(read, names, depth, module)

    def _object(self, found: Any, names: frozenset[str], depth: int) -> None:
        kind = found if isinstance(found, type) else type(found)
        attributes = {} if isinstance(found, type) else getattr(found, "__dict__", {})
        self.objects.append((attributes, kind, names))
        names = with_methods(kind, names | {"__call__"})
        read = {name: attributes[name] for name in names & attributes.keys()}
        self._items(read, names, depth, attributes)
        for base in kind.__mro__ if not _is_of_paddle(kind) else ():
            kept = names & vars(base).keys() - attributes.keys()
            held = {name: getattr(found, name, None) for name in kept if is_data(vars(base)[name])}
            owner = found if hasattr(base, "__slots__") else base
            self._items(held, names, depth, _Attributes(owner))
        for name in sorted(names & attributes.get("_sub_layers", {}).keys()):
            self.visit(attributes["_sub_layers"][name], names, depth - 1)

    def _items(
        self, items: dict[Any, Any], names: frozenset[str], depth: int, holder: Any = None
    ) -> None:
        for key, content in list(items.items()):
            self._slot(items if holder is None else holder, key, content, names, depth)

    def _slot(self, holder: Any, key: Any, content: Any, names: frozenset[str], depth: int) -> None:
        if id(content) in self._containers:
            self.slots.append(Slot(holder, key, self._containers[id(content)]))
            return
        if any(True for _ in _leaves(content)):
            self.slots.append(Slot(holder, key))
        if not _is_of_paddle(content):
            self.visit(content, names, depth - 1)


class _Attributes:
    """The attributes of a class, or of an object with slots, as a holder of items."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def __getitem__(self, name: str) -> Any:
        return getattr(self._owner, name)

    def __setitem__(self, name: str, content: Any) -> None:
        setattr(self._owner, name, content)


class _Defaults:
    """The defaults of a function as a holder of items: they are an immutable tuple."""

    def __init__(self, function: types.FunctionType) -> None:
        self._function = function

    def __getitem__(self, index: int) -> Any:
        return (self._function.__defaults__ or ())[index]

    def __setitem__(self, index: int, content: Any) -> None:
        defaults = list(self._function.__defaults__ or ())
        defaults[index] = content
        self._function.__defaults__ = tuple(defaults)


def _is_of_paddle(content: Any) -> bool:
    module = getattr(content, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] == "paddle" and callable(content)
