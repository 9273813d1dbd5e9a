"""The code that SOT emits around the call of a graph with hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .sot_surfaces import ContainerVariable, TensorVariable, VariableBase

if TYPE_CHECKING:
    from .sot_settling import Settled


class Prologue:
    """Comes first in what the frame goes on with: emits the code that makes the run's hooks."""

    def __init__(self, settled: Settled, outputs: Sequence[Any]) -> None:
        flow = settled.flow
        self.settled = settled
        self.outputs = [output for output in outputs if output.var_name in flow.outputs]
        settled.arming.outputs = [
            (1 << flow.outputs[output.var_name], flow.is_used(output)) for output in self.outputs
        ]

    def reconstruct(self, codegen: Any) -> None:
        """Emit the call of `arming`, and the stores of what it makes for the frame."""
        arming, loads, exports = self.settled.arming, self.settled.loads, self.settled.exports
        for load in loads:
            if isinstance(load, ContainerVariable) and not load.tracker.is_traceable():
                load.reconstruct(codegen)  # once, so that the hook and the frame share it
                _store(codegen, load)
        codegen.gen_load_object(arming, f"___static_hooks_arming_{id(arming)}")
        for load in loads:
            load.reconstruct(codegen)
            if is_of_graph(load):  # the graph's node, which has the hook, must not be in the hook
                codegen.gen_load_method("detach")
                codegen.gen_call_method(0)
        codegen.gen_build_tuple(len(loads))
        for tensor in self.outputs:
            codegen.gen_load_fast(tensor.out_var_name)
        codegen.gen_build_tuple(len(self.outputs))
        codegen.gen_call_function(2)
        codegen.gen_unpack_sequence(len(exports))
        for variable in exports:
            _store(codegen, variable)


def inputs_of(settled: Settled, inputs: Sequence[Any]) -> list[Any]:
    """Return the inputs of the graph as the code that calls it is to load them."""
    return [
        DetachedInput(variable) if variable.var_name in settled.unreached else variable
        for variable in inputs
    ]


class DetachedInput:
    """Stands for an input of the graph: emits the code that passes it without its gradient."""

    def __init__(self, variable: TensorVariable) -> None:
        self.tracker, self._variable = self, variable

    def gen_instructions(self, codegen: Any) -> None:
        """Emit the code."""
        self._variable.tracker.gen_instructions(codegen)
        codegen.gen_load_method("detach")
        codegen.gen_call_method(0)


def is_of_graph(load: Any) -> bool:
    """Tell whether what a hook needs loaded is a tensor that the graph computes."""
    return isinstance(load, TensorVariable) and not load.tracker.is_traceable()


def _store(codegen: Any, variable: VariableBase) -> None:
    """Store what is on the stack as `variable`; from now on the frame loads it from there."""
    name = f"___static_hooks_{variable.id}"
    codegen.gen_store_fast(name)
    variable.__dict__["reconstruct"] = lambda codegen, **_: codegen.gen_load_fast(name)
