"""The order in which eager mode would run the backward of a block.

Effects of hooks on different tensors are observable, so their order is part of the behaviour. Eager
mode walks the graph breadth first: an operation is queued when the last gradient that it waits for
arrives, and its inputs are served in the order of its operands; leaves overtake. The static builder
walks a different order; with callbacks in the program it is given this one, which is as valid.

Source: PaddlePaddle/Paddle paddle/fluid/eager/backward.cc `RunBackward`, 3.3.1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from .surfaces import Operation, Value, get_real_op_inputs, is_fake_value

# What PIR inserts between an operation and a list of tensors; eager mode has no node for them.
_PLUMBING = ("builtin.combine", "builtin.split")


def eager_order(operations: Sequence[Operation], outputs: Iterable[Value] = ()) -> list[Operation]:
    """Sort forward operations in the order in which eager mode would reach them in backward.

    Args:
        operations: the operations of one block, in the order of the program.
        outputs: the values that backward starts from, in the order in which their gradients arrive.

    Returns:
        The same operations; each after all of its consumers.
    """
    known = set(operations)
    producers = {op: _producers(op, known) for op in known}
    waiting: dict[Operation, int] = dict.fromkeys(known, 0)
    for sources in producers.values():
        for source in sources:
            waiting[source] += 1
    starts = dict.fromkeys([*(value.get_defining_op() for value in outputs), *operations])
    queue = deque(op for op in starts if waiting.get(op) == 0)
    order: list[Operation] = []

    def serve(op: Operation) -> None:
        order.append(op)
        for source in producers[op]:
            waiting[source] -= 1
            if waiting[source] == 0 and source.name() in _PLUMBING:
                serve(source)
            elif waiting[source] == 0 and source.num_operands() == 0:
                queue.appendleft(source)
            elif waiting[source] == 0:
                queue.append(source)

    while queue:
        serve(queue.popleft())
    return order


def _producers(op: Operation, known: set[Operation]) -> list[Operation]:
    inputs = (value for value in get_real_op_inputs(op) if not is_fake_value(value))
    defining = (value.get_defining_op() for value in inputs)
    return [source for source in defining if source in known]
