"""Looking into the code and the variables of functions."""

from __future__ import annotations

import dis
import inspect
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
_JUMPS = (*dis.hasjrel, *dis.hasjabs)
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
    """The globals and attributes that a function's own code assigns, and attributes that it reads.

    Attributes:
        globals: names of globals.
        attributes: the variable that holds the object, None where it is no variable; and the name.
        updated: the attributes that may get another value in each run, or none.
        read: the names of attributes; strings too, which `getattr` may be called with.
    """

    globals: frozenset[str]
    attributes: frozenset[tuple[str | None, str]]
    updated: frozenset[str]
    read: frozenset[str]


_STORES: weakref.WeakKeyDictionary[types.FunctionType, Stores] = weakref.WeakKeyDictionary()


def stores_of(function: types.FunctionType) -> Stores:
    """Look once for what a function assigns outside of its own variables."""
    if function not in _STORES:
        code = list(dis.get_instructions(function.__code__))
        stores = [n for n, found in enumerate(code) if found.opname == "STORE_ATTR"]
        again = [n for n in stores if not _is_for_the_first_run(code, n)]
        _STORES[function] = Stores(
            frozenset(found.argval for found in code if found.opname == "STORE_GLOBAL"),
            frozenset((_variable(code[n - 1]), code[n].argval) for n in again),
            frozenset(code[n].argval for n in again if _is_update(code, n)),
            frozenset(
                found.argval
                for found in code
                if found.opname in ("LOAD_ATTR", "LOAD_METHOD")
                or (found.opname == "LOAD_CONST" and isinstance(found.argval, str))
            ),
        )
    return _STORES[function]


def _is_for_the_first_run(code: list[dis.Instruction], store: int) -> bool:
    """Tell whether an attribute is looked at first, and assigned if it has no value yet."""
    start = _start_of_branch(code, store)
    looked_at = _is_read(code, 0, start, code[store].argval) or _names(code, store, "hasattr")
    return start > 0 and looked_at and not _is_read(code, start, store, code[store].argval)


def _is_update(code: list[dis.Instruction], store: int) -> bool:
    """Tell whether what is assigned may depend on what there was, or on a condition."""
    read = _is_read(code, 0, store, code[store].argval) or _names(code, store, "getattr")
    return read or _start_of_branch(code, store) > 0


def _start_of_branch(code: list[dis.Instruction], at: int) -> int:
    """Return where the innermost branch begins that an instruction is in; 0 if it is in none."""
    skips = (n for n in range(at) if code[n].opcode in _JUMPS and code[n].argval > code[at].offset)
    return max(skips, default=-1) + 1


def _is_read(code: list[dis.Instruction], start: int, end: int, name: str) -> bool:
    return any(
        f.opname in ("LOAD_ATTR", "LOAD_METHOD") and f.argval == name for f in code[start:end]
    )


def _names(code: list[dis.Instruction], store: int, function: str) -> bool:
    """Tell whether a function such as `hasattr` is called that may be about the attribute."""
    named = {found.argval for found in code if found.opname in ("LOAD_GLOBAL", "LOAD_CONST")}
    return {function, code[store].argval} <= named


def _variable(found: dis.Instruction) -> str | None:
    """Return the variable that an instruction leaves on top of the stack."""
    if not found.opname.startswith(_VARIABLES):
        return None
    # Python 3.13 loads two at once.
    return str(found.argval[-1] if isinstance(found.argval, tuple) else found.argval)


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
