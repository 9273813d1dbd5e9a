"""The values of a program, as objects that stay what they are.

`Block.args()` and `Block.kwargs()` of Paddle 3.3 return references into the block. A reference that
outlives its program stands for whatever is later at that place in memory: Paddle then takes it for
a value of another program, and the process crashes. Here each such value is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import paddle

from .surfaces import IrMapping, Value, parameter_recorder


def every_value(program: paddle.static.Program) -> Iterator[Value]:
    """Yield all values of a program, in the same order for a clone of it."""
    return _in_block(program.global_block(), True)


def named_values(program: paddle.static.Program) -> list[Value]:
    """List the values of a program that can have a name of their own.

    Source: PaddlePaddle/Paddle python/paddle/jit/dy2static/pir_partial_program.py,
    RunnableProgram._get_program_all_values, 3.3.1; its recursive inner function and the list are a
    cycle, so that the list outlives the call and often the program.
    """
    return list(_in_block(program.global_block(), False))


def same_tensor(value: Value) -> Value:
    """Look through reshaping to the shape that a tensor has: eager mode returns the same tensor.

    Source: PaddlePaddle/Paddle python/paddle/tensor/manipulation.py, reshape, 3.3.1.
    """
    op = value.get_defining_op()
    while op is not None and op.name() in ("pd_op.reshape", "pd_op.reshape_"):
        source, shape = op.operands_source()
        maker = shape.get_defining_op()
        wanted = maker.attrs().get("value") if maker is not None else None
        if wanted != source.shape or -1 in source.shape:
            break
        value, op = source, source.get_defining_op()
    return value


def forgetting_failures(original: Callable[..., Any]) -> Callable[..., Any]:
    """Forget what a trace that fails has noted, which Paddle keeps by the program's `id`.

    A later program at the same place in memory would take the values for its own.
    """

    @contextmanager
    def graph_tracing_guard(main_program: paddle.static.Program) -> Iterator[Any]:
        try:
            with original(main_program) as context:
                yield context
        except BaseException:
            parameter_recorder._global_parameter_recorder.pop(main_program)
            parameter_recorder._global_inplace_map.pop(main_program)
            raise

    return graph_tracing_guard


def _in_block(block: Any, positional: bool) -> Iterator[Value]:
    yield from map(_copied, [*(block.args() if positional else ()), *block.kwargs().values()])
    for operation in block.ops:
        yield from operation.results()
        for nested in operation.blocks():
            yield from _in_block(nested, positional)


def _copied(value: Value) -> Value:
    mapping = IrMapping()
    mapping.add(value, value)
    return mapping.look_up(value)
