"""Looking into the code of functions."""

from __future__ import annotations

import dis
import types
import weakref
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Nested:
    """The functions that a function defines, and the variables that one of them assigns."""

    codes: frozenset[types.CodeType]
    rebound: frozenset[str]


_NESTED: weakref.WeakKeyDictionary[types.FunctionType, Nested] = weakref.WeakKeyDictionary()


def nested_in(function: types.FunctionType) -> Nested:
    """Look into a function once for all the hooks that it defines."""
    if function not in _NESTED:
        codes = frozenset(nested(function.__code__))
        instructions = (i for code in codes for i in dis.get_instructions(code))
        names = (i.argval for i in instructions if i.opname in ("STORE_DEREF", "DELETE_DEREF"))
        _NESTED[function] = Nested(codes, frozenset(names))
    return _NESTED[function]


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield every code object nested in `code`, in the order of the text."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from nested(constant)
