"""The code that SOT emits around the call of a graph with hooks."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from . import sot_marks
from .sot_fallback import site
from .sot_flow import Flow, differentiable, escaping
from .sot_surfaces import ContainerVariable, TensorVariable, VariableBase

if TYPE_CHECKING:
    from .sot_settling import Settled


class Marking:
    """Comes first after the call of a graph without hooks: emits what marks its outputs.

    Args:
        graph: SOT's graph of the frame.
        returned: what the frame goes on with.

    Attributes:
        outputs: the tensors that the graph returns; set before `reconstruct`.
    """

    def __init__(self, graph: Any, returned: Sequence[VariableBase]) -> None:
        escape = list(dict.fromkeys(escaping(graph, returned)))
        self._flow = Flow(graph.sir_builder.current_sir, differentiable(graph, escape))
        self._site = site()
        self.outputs: Sequence[Any] = ()

    def inputs(self, variables: Sequence[Any]) -> Sequence[Any]:
        """Return the inputs of the graph as the code that calls it is to load them."""
        return _inputs(self._flow, variables)

    def reconstruct(self, codegen: Any) -> None:
        """Emit the call of `mark_used`, if the graph uses what it returns."""
        flow = self._flow
        used = [o for o in self.outputs if o.var_name in flow.outputs and flow.is_used(o)]
        if not used:
            return
        codegen.gen_load_object(sot_marks.mark_used, "___static_hooks_mark_used")
        for tensor in used:
            codegen.gen_load_fast(tensor.out_var_name)
        codegen.gen_build_tuple(len(used))
        codegen.gen_load_const("{}:{}".format(*self._site))
        codegen.gen_call_function(2)
        codegen.gen_pop_top()


class Prologue:
    """Comes first after the call of a graph with hooks: emits the code that makes the run's hooks.

    Args:
        settled: the hooks.

    Attributes:
        outputs: the tensors that the graph returns; set before `reconstruct`.
    """

    def __init__(self, settled: Settled) -> None:
        self._settled = settled
        self.outputs: Sequence[Any] = ()

    def inputs(self, variables: Sequence[Any]) -> Sequence[Any]:
        """Return the inputs of the graph as the code that calls it is to load them."""
        return _inputs(self._settled.flow, variables, self._settled.delegated)

    def reconstruct(self, codegen: Any) -> None:
        """Emit the call of `arming`, and the stores of what it makes for the frame."""
        settled, flow = self._settled, self._settled.flow
        arming, loads, exports = settled.arming, settled.loads, settled.exports
        outputs = [output for output in self.outputs if output.var_name in flow.outputs]
        arming.outputs = [(1 << flow.outputs[o.var_name], flow.is_used(o)) for o in outputs]
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
        for tensor in outputs:
            codegen.gen_load_fast(tensor.out_var_name)
        codegen.gen_build_tuple(len(outputs))
        codegen.gen_call_function(2)
        codegen.gen_unpack_sequence(len(exports))
        for variable in exports:
            _store(codegen, variable)


def _inputs(flow: Flow, variables: Sequence[Any], hooked: Container[str] = ()) -> list[Any]:
    """Detach the hooked inputs that no gradient comes back to: Paddle would give them zeros."""
    return [
        _Input(variable, variable.var_name in hooked)
        if isinstance(variable, TensorVariable)
        and not flow.reached(variable)
        and not flow.is_hooked(variable)
        else variable
        for variable in variables
    ]


class _Input:
    """Stands for an input of the graph that no gradient comes back to."""

    def __init__(self, variable: TensorVariable, is_hooked: bool) -> None:
        self.tracker, self._variable, self._is_hooked = self, variable, is_hooked

    def gen_instructions(self, codegen: Any) -> None:
        """Emit the code that loads it."""
        if not self._is_hooked:
            codegen.gen_load_object(sot_marks.without_hooks, "___static_hooks_without_hooks")
            self._variable.tracker.gen_instructions(codegen)
            codegen.gen_call_function(1)
            return
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
