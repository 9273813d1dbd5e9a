"""A hook that is registered in a branch on a tensor from outside of it.

Both branches of an `if` on a tensor are traced, and one of them runs. A tensor made in a branch
takes its hooks with it. A hook on a tensor from outside must fire only if its registration was
reached: it gets the conditions of the branches that it is in, and their values at run time decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import paddle

from .errors import UnsupportedHookError
from .surfaces import Block, Operation, Value, get_current_insertion_point

_REFUSED = (
    "register_hook: a hook in {where} must be on a tensor made there, but got one from outside; "
    "register it outside, and decide in its body"
)


@dataclass(frozen=True)
class Condition:
    """What the condition of an `if` must be for control to reach a registration."""

    predicate: Value
    must_be: bool


def is_in_block() -> bool:
    """Tell whether a branch or a loop is being traced."""
    return get_current_insertion_point().block().parent_block is not None


def conditions_of(target: Any) -> list[Condition]:
    """List the conditions of the branches between a tensor and the point that is being traced.

    Args:
        target: the hooked value, or an eager tensor.

    Raises:
        UnsupportedHookError: there is a loop between them, or a condition that is not visible where
            the tensor was made.
    """
    block = get_current_insertion_point().block()
    if isinstance(target, Value) and target.get_defining_op() is None:
        return []  # the variable of the loop that is being traced
    home = _home(target, block.program)
    found: list[Condition] = []
    while block != home and block.parent_block is not None:
        operation = block.parent_op
        if operation.name() != "pd_op.if":
            raise UnsupportedHookError(_REFUSED.format(where="a loop that a tensor ends"))
        predicate = operation.operand_source(0)
        if not _is_visible(predicate, home):
            raise UnsupportedHookError(_REFUSED.format(where="a branch within a branch"))
        found.append(Condition(predicate, block == operation.as_if_op().true_block()))
        block = block.parent_block
    return found


def are_met(conditions: Sequence[Condition], predicates: Sequence[paddle.Tensor]) -> bool:
    """Tell whether all conditions hold in a run.

    Args:
        conditions: what must hold.
        predicates: their values in the run, booleans of one element.
    """
    pairs = zip(conditions, predicates, strict=True)
    return all(bool(predicate) == condition.must_be for condition, predicate in pairs)


def check_visible(value: Value, block: Block, site: str) -> None:
    """Refuse a captured value that a block can't see.

    Args:
        value: what a hook captures.
        block: where it is wanted.
        site: where the hook was registered.

    Raises:
        UnsupportedHookError: the value is made inside a branch or loop that the block is not in.
    """
    if not _is_visible(value, block):
        raise UnsupportedHookError(
            f"hook registered at {site}: a value that the hook uses must be visible where its "
            "tensor was made, but it was made inside a branch or loop; return it from there"
        )


def handed_through(value: Value) -> Iterator[tuple[Value, Operation]]:
    """List the tensors from outside that an `if` may return as they are, and the `if` of each."""
    operation = value.get_defining_op()
    if operation is None or operation.name() != "pd_op.if":
        return
    (index,) = (i for i, result in enumerate(operation.results()) if result.is_same(value))
    for block in operation.blocks():
        source = block.ops[-1].operand_source(index)
        if _home(source, block.program) == block:
            yield from handed_through(source)
        else:
            yield source, operation


def is_inside(operation: Operation, branching: Operation) -> bool:
    """Tell whether an operation is in a branch of another."""
    block = operation.get_parent_block()
    while block.parent_block is not None:
        if block.parent_op == branching:
            return True
        block = block.parent_block
    return False


def _home(target: Any, program: Any) -> Block:
    operation = target.get_defining_op() if isinstance(target, Value) else None
    return program.global_block() if operation is None else operation.get_parent_block()


def _is_visible(value: Value, block: Block | None) -> bool:
    """Tell whether a value is defined in a block or in one around it."""
    home = _home(value, block.program) if block is not None else None
    while block is not None and block != home:
        block = block.parent_block
    return block is not None
