"""What leaves a graph, and through which of it gradients come back to a tensor inside."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import paddle

from .sot_recording import HookStatement
from .sot_surfaces import (
    ContainerVariable,
    GlobalVariable,
    MutationDel,
    StatementIR,
    Symbol,
    TensorVariable,
    VariableBase,
    flatten_extend,
)

_DIFFERENTIABLE = (
    paddle.float32, paddle.float64, paddle.float16, paddle.bfloat16,
    paddle.complex64, paddle.complex128,
)  # fmt: skip


class Flow:
    """Which of the tensors that a graph returns depend on a tensor in it.

    Args:
        sir: the statements of the graph.
        outputs: the tensors that it returns and that gradients come back through.
    """

    def __init__(self, sir: StatementIR, outputs: Sequence[TensorVariable]) -> None:
        self.outputs = {output.var_name: index for index, output in enumerate(outputs)}
        self._hooked: set[str] = set()
        self._inputs: set[str] = set()
        self._reached = {name: 1 << index for name, index in self.outputs.items()}
        self._with_siblings: dict[str, int] = {}
        for statement in reversed(sir.statements):
            taken = [item for item in flatten_extend(statement.inputs) if isinstance(item, Symbol)]
            if isinstance(statement, HookStatement):
                self._hooked.update(item.name for item in taken)
                continue
            made = [item for item in flatten_extend(statement.outputs) if isinstance(item, Symbol)]
            reached = functools.reduce(operator.or_, (self._of(item.name) for item in made), 0)
            self._with_siblings.update({item.name: reached for item in made})
            self._inputs.update(item.name for item in taken)
            for item in taken:
                if _has_gradient(sir.symbol_meta_map.get(item)):
                    self._reached[item.name] = self._of(item.name) | reached

    def _of(self, name: str) -> int:
        return self._reached.get(name, 0)

    def reached(self, tensor: TensorVariable) -> int:
        """Return, as bits, the outputs whose gradient makes a tensor get one.

        As in eager mode, a result of an operation gets zeros when another result gets a gradient.
        """
        return self._with_siblings.get(tensor.var_name, self._of(tensor.var_name))

    def takes(self, tensor: TensorVariable) -> bool:
        """Tell whether a statement of the graph takes a tensor."""
        return tensor.var_name in self._inputs

    def is_hooked(self, tensor: TensorVariable) -> bool:
        """Tell whether a hook is on a tensor in the graph."""
        return tensor.var_name in self._hooked

    def is_partial(self, tensor: TensorVariable) -> bool:
        """Tell whether the gradient of some outputs alone would not reach a tensor."""
        return self.reached(tensor) != (1 << len(self.outputs)) - 1

    def is_used(self, output: TensorVariable) -> bool:
        """Tell whether a part of the gradient of an output is inside the graph, or a hook on it."""
        own = 1 << self.outputs[output.var_name]
        return self.is_hooked(output) or bool(self._of(output.var_name) & ~own)


def differentiable(graph: Any, escaping: Sequence[VariableBase]) -> list[TensorVariable]:
    """List the tensors that a graph returns and that gradients come back through."""
    return [
        tensor
        for tensor in graph._find_tensor_outputs(escaping)
        if isinstance(tensor, TensorVariable) and _has_gradient(tensor.meta)
    ]


def _has_gradient(meta: Any) -> bool:
    """Tell whether a tensor takes part in backward; None is one that nothing is known of."""
    if meta is None or meta.is_null():
        return True
    known = meta.unwrap_unsafe()
    return not known.stop_gradient and known.dtype in _DIFFERENTIABLE


def escaping(graph: Any, returned: Sequence[VariableBase]) -> Iterator[VariableBase]:
    """Yield what outlives the graph: what the frame goes on with, and its side effects."""
    for variable in returned:
        yield from variable.flatten_inner_vars()
    for variable in graph.side_effects.proxy_variables:
        if isinstance(variable, ContainerVariable):
            yield from variable.flatten_inner_vars()
        else:
            proxy: Any = variable.attr_proxy
            if isinstance(variable, GlobalVariable):
                proxy = variable.proxy
            for mutation in proxy.records:
                if not isinstance(mutation, MutationDel):
                    yield from mutation.value.flatten_inner_vars()
