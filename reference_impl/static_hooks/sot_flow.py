"""What leaves a graph, and through which of it gradients come back to a tensor inside."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from typing import Any

from .sot_recording import HookStatement
from .sot_surfaces import (
    ContainerVariable,
    GlobalVariable,
    MutationDel,
    Statement,
    Symbol,
    TensorVariable,
    VariableBase,
    flatten_extend,
)


class Flow:
    """Which of the tensors that a graph returns depend on a tensor in it.

    Args:
        statements: those of the graph.
        outputs: the tensors that it returns and that gradients come back through.
    """

    def __init__(self, statements: Sequence[Statement], outputs: Sequence[TensorVariable]) -> None:
        self.outputs = {output.var_name: index for index, output in enumerate(outputs)}
        self._hooked: set[str] = set()
        self._reached = {name: 1 << index for name, index in self.outputs.items()}
        for statement in reversed(statements):
            names = [item.name for item in flatten_extend(statement.inputs) if _is_symbol(item)]
            if isinstance(statement, HookStatement):
                self._hooked.update(names)
                continue
            results = [item.name for item in flatten_extend(statement.outputs) if _is_symbol(item)]
            reached = functools.reduce(operator.or_, map(self._of, results), 0)
            self._reached.update({name: self._of(name) | reached for name in names})

    def _of(self, name: str) -> int:
        return self._reached.get(name, 0)

    def reached(self, tensor: TensorVariable) -> int:
        """Return the outputs that depend on a tensor, as the bits of a number."""
        return self._of(tensor.var_name)

    def is_partial(self, tensor: TensorVariable) -> bool:
        """Tell whether the gradient of some outputs alone would not reach a tensor."""
        return self.reached(tensor) != (1 << len(self.outputs)) - 1

    def is_used(self, output: TensorVariable) -> bool:
        """Tell whether a part of the gradient of an output is inside the graph, or a hook on it."""
        own = 1 << self.outputs[output.var_name]
        return output.var_name in self._hooked or bool(self.reached(output) & ~own)


def _is_symbol(item: Any) -> bool:
    return isinstance(item, Symbol)


def differentiable(graph: Any, escaping: Sequence[VariableBase]) -> list[TensorVariable]:
    """List the tensors that a graph returns and that gradients come back through."""
    return [
        tensor for tensor in graph._find_tensor_outputs(escaping)
        if isinstance(tensor, TensorVariable)
        and not tensor.meta.is_null() and not tensor.meta.unwrap_unsafe().stop_gradient
    ]  # fmt: skip


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
