"""Through which results of a traced function gradients come back to a value inside it.

A backward may start from some results of a function alone. Paddle then gives the others zeros, and
in a static graph these flow to hooks that eager mode would not call. So a hook that not every
result leads to asks its run which results got a gradient.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .branches import is_inside
from .renewal import Renewal
from .surfaces import Block, Operation, Value, ValueDict, ValueSet, get_real_op_inputs

if TYPE_CHECKING:
    from .registration import Registration


class Run:
    """One forward run of a traced function, as far as its hooks need to know it.

    Attributes:
        arguments: the lists and dicts that the caller passed, in the order of the traced copies.
        removed: the hooks whose handle was told to remove them from this run.
        live: the results whose gradient arrived, as bits.
        copies: what the run has made anew.
    """

    def __init__(self, arguments: Sequence[Any]) -> None:
        self.arguments = arguments
        self.removed: set[Registration] = set()
        self.live = 0
        self.copies = Renewal()


class Flow:
    """Which results of a function depend on a value.

    Args:
        block: the block of the function.
        results: the values that it returns.
    """

    def __init__(self, block: Block, results: Sequence[Value]) -> None:
        self._results = ValueSet(results)
        self._bits = ValueDict(default_factory=int)
        for index, result in enumerate(results):
            if not result.stop_gradient:
                self._bits[result] |= 1 << index
        self._all = self._reached_by(results)
        for op in reversed(block.ops):
            bits = self._reached_by(op.results())
            for value in (*get_real_op_inputs(op), *_inside(op)) if bits else ():
                if not value.stop_gradient:
                    self._bits[value] |= bits

    def _reached_by(self, values: Sequence[Value]) -> int:
        return functools.reduce(operator.or_, (self._bits.get(value, 0) for value in values), 0)

    def is_used(self, value: Value, branching: Operation) -> bool:
        """Tell whether a gradient may come back to a value in another way than through an `if`."""
        if value in self._results:
            return True
        users = (op for op in value.all_used_ops() if not is_inside(op, branching))
        return any(self._reached_by(op.results()) for op in users)

    def partial(self, value: Value) -> int | None:
        """Return the results that lead to a value, as bits; None if all of them do.

        What leads to one result of an operation leads to all: eager mode gives them zeros.
        """
        home = value.get_defining_op()
        bits = self._reached_by([value] if home is None else home.results())
        return None if bits == self._all else bits


def _inside(op: Operation) -> Iterator[Value]:
    for block in op.blocks():
        for nested in block.ops:
            yield from nested.results()
            yield from _inside(nested)
