"""What each run makes anew: the variables of the traced function, and what they alone hold.

In eager mode every call of a function has variables of its own: a counter or a list that it makes
is fresh in each run, and the hooks of the run share it. A static graph is traced once, so its hooks
have the variables of that one trace. Where their state could show, each run calls copies of the
hooks, with copies of these variables and of the containers and objects that nothing else refers to.
What comes from outside of the function is left as it is.
"""

from __future__ import annotations

import copy
import functools
import operator
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import paddle

from . import bodies, branches, captures
from .codes import UNASSIGNED, Nested, contents, nested_in
from .errors import UnsupportedHookError
from .source import BoundArguments, Origin
from .surfaces import Value, ValueDict

if TYPE_CHECKING:
    from .assigning import Assignment
    from .registration import Registration

CONTAINERS = (list, dict, set, deque)
# What is held in one place is referred to by that place, and by the call that counts.
_ALONE = 2


@dataclass(frozen=True)
class State:
    """What a run has to make anew of one hook.

    Attributes:
        defined: the functions that the traced function defines.
        outer: the variables from outside of it, by the identities of their cells.
        site: where the hook was registered.
        alone: the containers and objects that nothing else refers to, by their identities.
    """

    defined: Nested
    outer: frozenset[int]
    site: str
    alone: set[int] = field(default_factory=set)


def state_of(hook: Callable[..., Any], origin: Origin | None, made: Any, site: str) -> State | None:
    """Find the state of a hook as tracing has left it; None if it has none.

    Args:
        hook: the hook as the user wrote it.
        origin: what is known of its conversion, if the traced function defines it.
        made: the hook, or the object that it is a method of, if the traced function made that;
            else None.
        site: where the hook was registered.

    Raises:
        UnsupportedHookError: the hook has state that can't be made anew.
    """
    if origin is None and made is None:
        return None
    outer = (origin.original.__closure__ or ()) if origin else ()
    defined = nested_in(origin.original) if origin else Nested(frozenset(), frozenset())
    state = State(defined, frozenset(map(id, outer)), site)
    if is_state(made):
        state.alone.add(id(made))
    search = Renewal(search=True)
    search.renew(hook, state)
    return state if search.found else None


def made_by_trace(entry: Registration, entries: Sequence[Registration]) -> Any:
    """Return a hook, or the object that it is a method of, if nothing but hooks refers to it."""
    count = sum(other.raw is entry.raw for other in entries)
    if sys.getrefcount(entry.raw) > count + 1:
        return None
    if not isinstance(entry.raw, types.MethodType):
        return entry.raw
    receiver = functools.partial(getattr, entry.raw, "__self__")
    methods = {id(o.raw) for o in entries if getattr(o.raw, "__self__", None) is receiver()}
    return receiver() if sys.getrefcount(receiver()) <= len(methods) + 1 else None


def rejoin(origins: Sequence[Origin]) -> None:
    """Let hooks that conversion cut off from a variable share it with the hooks that have it."""
    cells: dict[tuple[str, int], types.CellType] = {}
    owned = [item for origin in origins for item in origin.cells.items()]
    lost = [item for origin in origins for item in origin.lost.items()]
    for name, cell in (*owned, *lost):
        cells.setdefault((name, id(contents(cell))), cell)
    for origin in origins:
        for name, cell in origin.lost.items():
            origin.lost[name] = cells[name, id(contents(cell))]


class Renewal:
    """The copies that one run makes; its hooks share them.

    Args:
        search: whether to note in the state what is held alone, not to copy for a run.

    Attributes:
        found: whether there was something that a run could see a change of.
    """

    def __init__(self, search: bool = False) -> None:
        self._search = search
        self._made: dict[int, Any] = {}
        self.found = False

    def renew(self, found: Any, state: State) -> Any:
        """Return the copy for this run of a hook, or of what a hook reaches."""
        if id(found) not in self._made:
            if isinstance(found, types.FunctionType) and found.__code__ in state.defined.codes:
                return self._function(found, state)
            if id(found) in state.alone:
                self.found = True
                self._made[id(found)] = self._copy(found, state)
            else:
                self._made[id(found)] = self._other(found, state)
        return self._made[id(found)]

    def _other(self, found: Any, state: State) -> Any:
        if isinstance(found, types.MethodType):
            receiver = self._held(functools.partial(getattr, found, "__self__"), state)
            return types.MethodType(self.renew(found.__func__, state), receiver)
        if isinstance(found, BoundArguments):
            # The `functools.partial` that these are of holds them as well.
            arguments = self._items(found.arguments, range(len(found.arguments)), state, 1)
            keywords = self._items(found.keywords, found.keywords, state)
            function = self.renew(found.function, state)
            return BoundArguments(function, list(arguments.values()), keywords)
        return found

    def _function(self, function: types.FunctionType, state: State) -> types.FunctionType:
        defaults = function.__defaults__ or ()
        named = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        made = types.FunctionType(
            function.__code__,
            function.__globals__,
            function.__name__,
            tuple(self._items(defaults, range(len(defaults)), state).values()) or None,
            tuple(self._cell(name, cell, state) for name, cell in named),
        )
        self._made[id(function)] = made
        for cell, old in zip(made.__closure__ or (), function.__closure__ or (), strict=True):
            self._fill(cell, old, state)
        keywords = function.__kwdefaults__ or {}
        made.__kwdefaults__ = self._items(keywords, keywords, state) or None
        made.__qualname__ = function.__qualname__
        made.__dict__.update(self._items(function.__dict__, function.__dict__, state))
        self.found |= bool(function.__dict__.keys() - {bodies.FORCED})
        return made

    def _cell(self, name: str, cell: types.CellType, state: State) -> types.CellType:
        if id(cell) in state.outer:
            return cell
        self.found |= name in state.defined.rebound
        return self._made.setdefault(id(cell), types.CellType())  # type: ignore[no-any-return]

    def _fill(self, cell: types.CellType, old: types.CellType, state: State) -> None:
        if cell is not old and contents(cell) is UNASSIGNED and contents(old) is not UNASSIGNED:
            cell.cell_contents = None  # a function may be found in a variable of its own
            cell.cell_contents = self._held(functools.partial(getattr, old, "cell_contents"), state)

    def _held(self, get: Callable[[], Any], state: State, others: int = 0) -> Any:
        """Renew what a place holds, if no place but `others` known ones holds it as well."""
        if self._search and sys.getrefcount(get()) <= _ALONE + others:
            if is_state(get()):
                state.alone.add(id(get()))
            elif isinstance(get(), Iterator):
                raise UnsupportedHookError(
                    f"hook registered at {state.site}: what the traced function makes for it must "
                    f"be new in each run, but got an iterator ({type(get()).__name__}), which "
                    "can't be copied; count in a number, or take the items from a list"
                )
        found = get()
        is_copied = callable(found) or id(found) in state.alone
        return self.renew(found, state) if is_copied else found

    def _copy(self, found: Any, state: State) -> Any:
        if isinstance(found, set):
            return copy.copy(found)
        holder = found if isinstance(found, CONTAINERS) else vars(found)
        keys = range(len(holder)) if isinstance(holder, (list, deque)) else holder
        items = self._items(holder, keys, state)
        made = copy.copy(found)
        target = made if isinstance(found, CONTAINERS) else vars(made)
        for key, item in items.items():
            target[key] = item
        return made

    def _items(self, holder: Any, keys: Any, state: State, others: int = 0) -> dict[Any, Any]:
        get = functools.partial(functools.partial, operator.getitem, holder)
        return {key: self._held(get(key), state, others) for key in keys}


def is_state(found: Any) -> bool:
    """Tell what has state that a hook may change: containers, and plain objects of the user's."""
    kind = type(found)
    if isinstance(found, (*CONTAINERS, types.SimpleNamespace)):
        return True
    is_ours = kind.__module__.partition(".")[0] in ("paddle", "static_hooks")
    new: Any = kind.__new__
    is_plain = new is object.__new__ and hasattr(found, "__dict__")
    return is_plain and not is_ours and not isinstance(found, (type, paddle.nn.Layer))


@dataclass(frozen=True)
class Placed:
    """A hook as the user wrote it, how its body runs, what it reaches, and when it is there.

    Attributes:
        containers: the copies of the caller's lists and dicts that the traced function saw.
        state: what each run makes anew of it.
        assignments: what each run assigns before it.
    """

    hook: Callable[..., Any]
    decision: bodies.Decision
    slots: list[captures.Slot]
    conditions: Sequence[branches.Condition] = ()
    containers: Sequence[Any] = ()
    state: State | None = None
    assignments: Sequence[Assignment] = ()

    def values(self) -> list[Value]:
        """List the forward values that a call of the hook needs."""
        predicates = (condition.predicate for condition in self.conditions)
        return [*captures.values(self.slots), *predicates]

    def in_run(
        self, copies: Renewal | None, tensors: Sequence[Any]
    ) -> tuple[Callable[..., Any], Sequence[captures.Slot], Sequence[Any]]:
        """Return the hook as one run calls it, its slots, and what to fill them with.

        Args:
            copies: those of the run; None where no run is known, as in a program built by hand.
            tensors: what the run has for `values()`.
        """
        if copies is None or self.state is None:
            return self.hook, self.slots, tensors
        hook = copies.renew(self.hook, self.state)
        slots = captures.find(hook, self.containers)
        known = ValueDict()
        for value, tensor in zip(self.values(), tensors, strict=True):
            known[value] = tensor
        return hook, slots, [known[value] for value in captures.values(slots)]
