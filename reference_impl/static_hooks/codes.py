"""Looking into the code and the variables of functions."""

from __future__ import annotations

import dis
import inspect
import itertools
import types
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Nested:
    """The functions that a function defines, and the variables that these assign for others."""

    codes: frozenset[types.CodeType]
    rebound: frozenset[str]


UNASSIGNED = object()
_OUTSIDE = ("GLOBAL", "ATTR")
_VARIABLES = ("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "STORE_FAST_LOAD_FAST")
_NESTED: weakref.WeakKeyDictionary[types.FunctionType, Nested] = weakref.WeakKeyDictionary()


def nested_in(function: types.FunctionType) -> Nested:
    """Look into a function once for all the hooks that it defines."""
    if function not in _NESTED:
        codes = frozenset(nested(function.__code__))
        _NESTED[function] = Nested(codes, frozenset().union(*map(_rebound, codes)))
    return _NESTED[function]


def _rebound(code: types.CodeType) -> set[str]:
    """Collect the variables from outside of it that a function assigns; its own are settled."""
    return {
        found.argval
        for found in dis.get_instructions(code)
        if found.opname in ("STORE_DEREF", "DELETE_DEREF") and found.argval in code.co_freevars
    }


@dataclass(frozen=True)
class Stores:
    """The globals and attributes that a function's own code assigns.

    Attributes:
        globals: names of globals.
        attributes: the variable that holds the object, None where it is no variable; and the name.
        updated: the names that the code may read before it assigns them.
    """

    globals: frozenset[str]
    attributes: frozenset[tuple[str | None, str]]
    updated: frozenset[str]


_STORES: weakref.WeakKeyDictionary[types.FunctionType, Stores] = weakref.WeakKeyDictionary()


def stores_of(function: types.FunctionType) -> Stores:
    """Look once for what a function assigns outside of its own variables."""
    if function not in _STORES:
        found = [(i.opname, i.argval) for i in dis.get_instructions(function.__code__)]
        first = {name: kind for kind, name in reversed(found) if kind.endswith(_OUTSIDE)}
        _STORES[function] = Stores(
            frozenset(name for kind, name in found if kind == "STORE_GLOBAL"),
            frozenset(
                (_variable(*before), name)
                for before, (kind, name) in itertools.pairwise(found)
                if kind == "STORE_ATTR"
            ),
            frozenset(name for name, kind in first.items() if kind.startswith("LOAD")),
        )
    return _STORES[function]


def _variable(kind: str, name: Any) -> str | None:
    """Return the variable that an instruction leaves on top of the stack."""
    if not kind.startswith(_VARIABLES):
        return None
    return str(name[-1] if isinstance(name, tuple) else name)  # Python 3.13 loads two at once


def globals_of(function: types.FunctionType) -> frozenset[str]:
    """Collect the globals that a function reads, which an attribute's name is not."""
    codes = (function.__code__, *nested(function.__code__))
    read = (found for code in codes for found in dis.get_instructions(code))
    return frozenset(found.argval for found in read if found.opname == "LOAD_GLOBAL")


def names_of(function: Any) -> frozenset[str]:
    """Collect every name that a function's code, or code nested in it, reads."""
    if not isinstance(function, types.FunctionType):
        return frozenset()
    codes = (function.__code__, *nested(function.__code__))
    return frozenset(name for code in codes for name in code.co_names)


def with_methods(kind: type, names: frozenset[str]) -> frozenset[str]:
    """Add to `names` what the methods and properties of `kind` read that `names` lead to."""
    known: frozenset[str] = frozenset()
    reached = names
    while reached > known:
        members = [inspect.getattr_static(kind, name, None) for name in reached - known]
        known = reached
        functions = [getattr(m, "fget", getattr(m, "__func__", m)) for m in members]
        reached = reached.union(*map(names_of, functions))
    return known


def is_data(member: Any) -> bool:
    """Tell a class's data, its slots included, from its methods and properties."""
    return isinstance(member, types.MemberDescriptorType) or not hasattr(type(member), "__get__")


def contents(cell: types.CellType) -> Any:
    """Return what a variable holds; `UNASSIGNED` where that is nothing yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return UNASSIGNED


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield every code object nested in `code`, in the order of the text."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from nested(constant)
