"""The order in which eager mode would run the backward of a block.

Effects of hooks on different tensors are observable, so their order is part of the behaviour. Eager
mode walks the graph breadth first: an operation is queued when the last gradient that it waits for
arrives, and its inputs are served in the order of its operands; leaves overtake. The static builder
walks a different order; with callbacks in the program it is given this one, which is as valid.

Source: PaddlePaddle/Paddle paddle/fluid/eager/backward.cc `RunBackward`, 3.3.1.
"""

from __future__ import annotations

from collections import Counter, deque
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
    waiting = Counter(source for sources in producers.values() for source in sources)
    # An operation with several of the outputs waits for the last of them.
    last = dict.fromkeys(reversed([value.get_defining_op() for value in outputs]))
    starts = dict.fromkeys([*reversed(last), *operations])
    queue: deque[Operation] = deque()
    order: list[Operation] = []

    def enqueue(op: Operation) -> None:
        if op.name() in _PLUMBING:
            serve(op)
        elif op.num_operands() == 0:
            queue.appendleft(op)
        else:
            queue.append(op)

    def serve(op: Operation) -> None:
        order.append(op)
        for source in producers[op]:
            waiting[source] -= 1
            if waiting[source] == 0:
                enqueue(source)

    for op in [op for op in starts if op in known and not waiting[op]]:
        enqueue(op)
    while queue:
        serve(queue.popleft())
    return order


def _producers(op: Operation, known: set[Operation]) -> list[Operation]:
    inputs = (value for value in get_real_op_inputs(op) if not is_fake_value(value))
    defining = (value.get_defining_op() for value in inputs)
    return [source for source in defining if source in known]
