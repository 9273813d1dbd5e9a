"""What becomes of the hooks of a simulated frame, settled when its graph is complete.

By then every variable of the frame has its last value, which is what a hook's body will see.

- A body of tensor operations alone is registered as it is, with the frame's values in its cells.
- Any other hook is made anew at each run (`sot_runs`), and the graph calls the one of its run.
- A hook on a tensor that came from outside is registered on that eager tensor at each run.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Sequence
from typing import Any

from . import bodies, sot_fallback
from .sot_emitting import is_of_graph
from .sot_flow import Flow, differentiable, escaping
from .sot_objects import MadePartialVariable
from .sot_rebuild import (
    Call,
    Function,
    Handle,
    Loaded,
    Maker,
    Recorder,
    is_defined,
)
from .sot_recording import (
    FillStatement,
    HandleVariable,
    HookStatement,
    RemoveStatement,
    removed_in,
)
from .sot_runs import Arming, Recipe, RunHook, removed_handle
from .sot_surfaces import (
    ConstantVariable,
    MethodVariable,
    ModuleVariable,
    PaddleApiVariable,
    TensorVariable,
    UserDefinedFunctionVariable,
    VariableBase,
    VariableCreator,
    record_symbols,
    tracer_guard,
)


class Settled:
    """The hooks of one graph, when the graph is complete.

    Args:
        graph: SOT's graph of the frame.
        hooks: the hooks that are still registered.
        escaping: the variables that outlive the graph.

    Attributes:
        arming: what each run calls to make its hooks.
        loads: what that call needs loaded.
        exports: the variables that it makes for the frame.
        delegated: the names of the hooked tensors that come from outside.
    """

    def __init__(
        self, graph: Any, hooks: Sequence[HookStatement], escaping: Sequence[VariableBase]
    ) -> None:
        self.graph, self.site = graph, f"{hooks[0].file}:{hooks[0].line}"
        self.flow = Flow(graph.sir_builder.current_sir, differentiable(graph, escaping))
        self.exports = [variable for variable in escaping if _is_made_here(variable)]
        kept = _reached_handles([*(hook.hook for hook in hooks), *self.exports])
        traced = [
            hook for hook in hooks
            if not (hook.is_eager or hook in kept or self.flow.is_partial(hook.target))
            and _is_traced(hook, self.flow)
        ]  # fmt: skip
        self.delegated = {hook.target.var_name for hook in hooks if hook.is_eager}
        self._settle_traced(traced)
        self._settle_others([hook for hook in hooks if hook not in set(traced)])

    def _settle_traced(self, hooks: Sequence[HookStatement]) -> None:
        """Register bodies of tensor operations as they are; fill their cells at the end."""
        if not hooks:
            return
        recorder = Recorder(lambda variable: None)
        nodes = [recorder.node(hook.hook) for hook in hooks]
        loads = dict(enumerate(recorder.loads))
        tensors = {i: load for i, load in loads.items() if isinstance(load, TensorVariable)}
        constants = {i: load.get_py_value() for i, load in loads.items() if i not in tensors}
        for i in constants:
            self.graph.add_global_guarded_variable(_guarded(loads[i]))
        tracing: list[Maker] = []

        def register(value: Any, node: Any) -> Any:
            # Each has cells of its own: what another function can reach, it might change.
            tracing.append(Maker(dict(constants), Handle))
            return value.register_hook(tracing[-1].make(node))

        def fill(*values: Any) -> None:
            while tracing:
                maker = tracing.pop()
                maker.loaded.update(zip(tensors, values, strict=True))
                maker.finish()

        for hook, node in zip(hooks, nodes, strict=True):
            hook.register = functools.partial(register, node=node)
        self.graph.collect_input_variables(list(tensors.values()))
        sir = self.graph.sir_builder.current_sir
        record_symbols(sir, *tensors.values())
        sir.add_statement(FillStatement(list(tensors.values()), fill))

    def _settle_others(self, hooks: Sequence[HookStatement]) -> None:
        """Let each run make the other hooks anew."""
        recorder = Recorder(lambda variable: _handle(variable, hooks))
        recipes = [
            Recipe(
                recorder.node(hook.hook), _name(hook.hook), hook.file, hook.line,
                recorder.node(hook.target) if hook.is_eager else None,
                self.flow.reached(hook.target),
            )
            for hook in hooks
        ]  # fmt: skip
        exports = [recorder.node(variable) for variable in self.exports]
        self.arming = Arming(recipes, exports, self.site)
        for index, hook in enumerate(hooks):
            hook.register = operator.methodcaller("register_hook", RunHook(self.arming, index))
        # A tensor of the graph is captured without its gradient, which would flow back from it.
        self.loads = [
            self.graph.call_tensor_method("detach", load) if is_of_graph(load) else load
            for load in recorder.loads
        ]

    @property
    def returned(self) -> list[VariableBase]:
        """What the graph must return besides what the frame needs."""
        return [load for load in self.loads if isinstance(load, VariableBase)]


def _handle(variable: VariableBase, hooks: Sequence[HookStatement]) -> Handle | Call | None:
    """Recognise the handle of one of `hooks`."""
    if not isinstance(variable, HandleVariable):
        return None
    statement = variable.statement
    if statement not in hooks:
        made = functools.partial(
            removed_handle, _name(statement.hook), statement.file, statement.line
        )
        return Call(made, (), {})
    return Handle(hooks.index(statement))


def _reached_handles(variables: Sequence[VariableBase]) -> set[HookStatement]:
    """Find the hooks whose handle outlives the frame: it may remove them later."""
    found: set[HookStatement] = set()

    def handle_of(variable: VariableBase) -> Handle | None:
        if not isinstance(variable, HandleVariable):
            return None
        found.add(variable.statement)
        return Handle(0)

    recorder = Recorder(handle_of)
    for variable in variables:
        recorder.node(variable)
    return found


def _is_made_here(variable: VariableBase) -> bool:
    """Tell whether SOT alone could not hand a variable on: it is made by `arming`."""
    return is_defined(variable) or isinstance(variable, (HandleVariable, MadePartialVariable))


def _is_traced(hook: HookStatement, flow: Flow) -> bool:
    """Tell whether a body becomes operations of the graph."""
    recorder = Recorder(lambda v: Handle(0) if isinstance(v, HandleVariable) else None)
    node = recorder.node(hook.hook)
    if isinstance(node, Loaded):
        return _is_fixed(hook.hook) and bodies.decide(hook.hook.get_py_value()).traced
    if not isinstance(node, Function) or any(_is_foreign(load, flow) for load in recorder.loads):
        return False
    maker = Maker({i: _stand_in(load) for i, load in enumerate(recorder.loads)}, Handle)
    function = maker.make(node)
    maker.finish()
    del maker  # who refers to a cell could change it
    return bodies.decide(function).traced


def _is_foreign(load: Any, flow: Flow) -> bool:
    """Tell whether a load is a tensor from outside that would become an input for a hook alone.

    Every input of a graph gets a gradient, be it zeros; in eager mode this one would get none.
    """
    is_outside = isinstance(load, TensorVariable) and load.tracker.is_traceable()
    return is_outside and not flow.takes(load)


def _is_fixed(variable: VariableBase) -> bool:
    """Tell whether a hook from outside the frame is all in its code, which a guard compares."""
    if isinstance(variable, MethodVariable):
        variable = variable.fn
    if not isinstance(variable, UserDefinedFunctionVariable):
        return False
    function = variable.value
    return not (function.__closure__ or function.__defaults__ or function.__kwdefaults__)


def _guarded(variable: VariableBase) -> VariableBase:
    """Return the variable whose guard holds as long as a traced hook may stay as it is."""
    if isinstance(variable, MethodVariable):
        variable = variable.fn
    return variable.get_code() if isinstance(variable, UserDefinedFunctionVariable) else variable


def _stand_in(load: Any) -> Any:
    """Return what decides like the object that will be loaded."""
    if isinstance(load, TensorVariable) and not load.meta.is_null():
        with tracer_guard(None):  # a frame is simulated in eager mode
            return VariableCreator().get_variable(load.meta)
    if isinstance(load, (ConstantVariable, ModuleVariable, PaddleApiVariable)):
        return load.value
    return object() if isinstance(load, VariableBase) else types.CellType(object())


def _name(hook: VariableBase) -> str:
    if isinstance(hook, MadePartialVariable):
        return _name(hook.function)
    value = getattr(hook.fn if isinstance(hook, MethodVariable) else hook, "value", None)
    value = getattr(value, "func", value)  # of a `functools.partial`
    return str(getattr(value, "__qualname__", hook.get_py_type().__qualname__))


def settle(graph: Any, returned: Sequence[VariableBase]) -> Settled | None:
    """Settle the hooks of a graph that is complete, at the end of its frame or at a graph break.

    Args:
        graph: SOT's graph of the frame.
        returned: what the frame goes on with.

    Returns:
        None if no hook was registered.
    """
    sir = graph.sir_builder.current_sir
    recorded = [s for s in sir.statements if isinstance(s, HookStatement)]
    if not recorded:
        return None
    sot_fallback.check_statements(sir.statements, recorded[0].file, recorded[0].line)
    removed = removed_in(sir.statements)
    hooks = [hook for hook in recorded if hook not in removed]
    outside = removed.union(hook for hook in hooks if hook.is_eager)
    sir.statements = [
        s for s in sir.statements if not (isinstance(s, RemoveStatement) or s in outside)
    ]
    if not hooks:
        return None
    settled = Settled(graph, hooks, list(dict.fromkeys(escaping(graph, returned))))
    for hook in recorded:  # the statements live as long as the process
        del hook.target, hook.hook
    return settled
