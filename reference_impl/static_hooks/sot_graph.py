"""Hooks of a simulated frame: recorded as statements, settled when the frame is complete.

`register_hook` is one more statement of those that SOT records. When the statements are traced, it
registers a hook on the traced value, and the rest of the package does its work. Which hook that is, is
settled when the graph is complete and every variable of the frame has its last value:

- a body of tensor operations alone is registered as it is, with the frame's values in its cells;
- any other hook is made anew at each run (`sot_runs`), and the graph calls the one of its run;
- a hook on a tensor that came from outside is registered on that eager tensor at each run.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import bodies, sot_fallback
from .registration import HookHandle
from .sot_rebuild import (
    Function,
    Handle,
    Loaded,
    Maker,
    MadePartialVariable,
    Recorder,
    is_defined,
)
from .sot_runs import Arming, Recipe, RunHook
from .sot_surfaces import (
    CallableVariable,
    ConstantVariable,
    ContainerVariable,
    DummyTracker,
    GlobalVariable,
    MethodVariable,
    ModuleVariable,
    MutationDel,
    PaddleApiVariable,
    Statement,
    Symbol,
    TensorVariable,
    UserDefinedFunctionVariable,
    VariableBase,
    VariableCreator,
    flatten_extend,
    record_symbols,
)


class HookStatement(Statement):
    """`register_hook`, as recorded.

    Attributes:
        target, hook: variables of the simulation.
        register: registers on a traced value what the hook was settled to be.
    """

    def __init__(self, graph: Any, target: TensorVariable, hook: VariableBase) -> None:
        contexts = list(graph.sir_builder._current_statement_ctxs)
        super().__init__("api", "register_hook", [[target.get_symbol()], {}], [None], contexts, [])
        self.target, self.hook = target, hook
        self.file, self.line = sot_fallback.site()
        self.register: Callable[[Any], Any] | None = None

    @property
    def is_eager(self) -> bool:
        """Tell whether the tensor comes from outside the frame."""
        return self.target.tracker.is_traceable()

    def api(self, value: Any) -> None:
        """Register the hook on a traced value."""
        if value.stop_gradient:  # made under `no_grad`, which the simulation does not see
            sot_fallback.fall_back("its tensor stops gradients", self.file, self.line)
        entry = self.register(value)._registration
        entry.file, entry.line = self.file, self.line


class RemoveStatement(Statement):
    """`handle.remove()`, as recorded; gone before anything is traced."""

    def __init__(self, removed: HookStatement) -> None:
        super().__init__("api", "remove", [[], {}], [], [], [])
        self.removed = removed


class FillStatement(Statement):
    """The last statement: gives traced hooks the frame's values, which are all known by then."""

    def __init__(self, tensors: Sequence[TensorVariable], fill: Callable[..., None]) -> None:
        inputs = [[tensor.get_symbol() for tensor in tensors], {}]
        super().__init__("api", "fill_hooks", inputs, [None], [], [])
        self.api = fill


class HandleVariable(VariableBase):
    """What `register_hook` returns in a simulated frame."""

    def __init__(self, graph: Any, statement: HookStatement) -> None:
        super().__init__(graph, DummyTracker([]))
        self.statement = statement

    def get_py_type(self) -> type:
        return HookHandle

    def get_py_value(self, allow_tensor: bool = False) -> Any:
        return self.statement

    def getattr(self, name: str, default: Any = None) -> Any:
        if name == "remove":
            return RemoveVariable(self.graph, self.statement)
        return super().getattr(name, default)

    def _reconstruct(self, codegen: Any) -> None:
        at = self.statement.file, self.statement.line
        sot_fallback.fall_back("its handle leaves the function in a way that is not known", *at)


class RemoveVariable(CallableVariable):
    """The method `remove` of a handle."""

    def __init__(self, graph: Any, statement: HookStatement) -> None:
        super().__init__(graph, DummyTracker([]))
        self.statement = statement

    def call_function(self) -> VariableBase:
        statements = self.graph.sir_builder.current_sir.statements
        is_registered = self.statement not in _removed(statements)
        statements.append(RemoveStatement(self.statement))
        return ConstantVariable.wrap_literal(is_registered, self.graph)


def _removed(statements: Sequence[Statement]) -> list[HookStatement]:
    return [s.removed for s in statements if isinstance(s, RemoveStatement)]


def record(graph: Any, target: TensorVariable, hook: VariableBase) -> HandleVariable:
    """Record one `register_hook` of a simulated frame."""
    sot_fallback.check_target(graph, target)
    statement = HookStatement(graph, target, hook)
    graph.sir_builder.current_sir.add_statement(statement)
    return HandleVariable(graph, statement)


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


def _differentiable(graph: Any, escaping: Sequence[VariableBase]) -> list[TensorVariable]:
    """List the tensors that a graph returns and that gradients come back through."""
    return [
        tensor for tensor in graph._find_tensor_outputs(escaping)
        if isinstance(tensor, TensorVariable)
        and not tensor.meta.is_null() and not tensor.meta.unwrap_unsafe().stop_gradient
    ]  # fmt: skip


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
    """

    def __init__(
        self, graph: Any, hooks: Sequence[HookStatement], escaping: Sequence[VariableBase]
    ) -> None:
        self.graph, self.site = graph, f"{hooks[0].file}:{hooks[0].line}"
        self.flow = Flow(graph.sir_builder.current_sir.statements, _differentiable(graph, escaping))
        self.exports = [variable for variable in escaping if _is_made_here(variable)]
        kept = _reached_handles([*(hook.hook for hook in hooks), *self.exports])
        traced = [
            hook for hook in hooks
            if not (hook.is_eager or hook in kept or self.flow.is_partial(hook.target))
            and _is_traced(hook)
        ]  # fmt: skip
        self._settle_traced(traced)
        self._settle_others([hook for hook in hooks if hook not in traced])

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
            if not tracing:
                tracing.append(Maker(dict(constants), Handle))
            return value.register_hook(tracing[0].make(node))

        def fill(*values: Any) -> None:
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
            hook.register = functools.partial(_register, RunHook(self.arming, index))
        self.loads = [self._without_gradient(load) for load in recorder.loads]

    def _without_gradient(self, load: Any) -> Any:
        """Replace a tensor of the graph by one that no gradient flows through."""
        if isinstance(load, TensorVariable) and not load.tracker.is_traceable():
            return self.graph.call_tensor_method("detach", load)
        return load

    @property
    def returned(self) -> list[VariableBase]:
        """What the graph must return besides what the frame needs."""
        return [load for load in self.loads if isinstance(load, VariableBase)]


class Prologue:
    """Comes first in what the frame goes on with: emits the code that makes the run's hooks."""

    def __init__(self, settled: Settled, outputs: Sequence[Any]) -> None:
        flow = settled.flow
        self.settled = settled
        self.outputs = [output for output in outputs if output.var_name in flow.outputs]
        settled.arming.outputs = [(1 << flow.outputs[o.var_name], flow.is_used(o)) for o in self.outputs]

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
        codegen.gen_build_tuple(len(loads))
        for tensor in self.outputs:
            codegen.gen_load_fast(tensor.out_var_name)
        codegen.gen_build_tuple(len(self.outputs))
        codegen.gen_call_function(2)
        codegen.gen_unpack_sequence(len(exports))
        for variable in exports:
            _store(codegen, variable)


def _store(codegen: Any, variable: VariableBase) -> None:
    """Store what is on the stack as `variable`; from now on the frame loads it from there."""
    name = f"___static_hooks_{variable.id}"
    codegen.gen_store_fast(name)
    variable.reconstruct = lambda codegen, **_: codegen.gen_load_fast(name)


def _register(hook: Any, value: Any) -> Any:
    return value.register_hook(hook)


def _handle(variable: VariableBase, hooks: Sequence[HookStatement]) -> Handle | None:
    """Recognise the handle of one of `hooks`."""
    if not isinstance(variable, HandleVariable):
        return None
    statement = variable.statement
    if statement not in hooks:
        reason = "the handle of a hook that was removed leaves the function"
        sot_fallback.fall_back(reason, statement.file, statement.line)
    return Handle(hooks.index(statement))


def _reached_handles(variables: Sequence[VariableBase]) -> list[HookStatement]:
    """List the hooks whose handle outlives the frame: it may remove them later."""
    found: list[HookStatement] = []

    def handle_of(variable: VariableBase) -> Handle | None:
        if not isinstance(variable, HandleVariable):
            return None
        found.append(variable.statement)
        return Handle(0)

    recorder = Recorder(handle_of)
    for variable in variables:
        recorder.node(variable)
    return found


def _is_made_here(variable: VariableBase) -> bool:
    """Tell whether SOT alone could not hand a variable on: it is made by `arming`."""
    if isinstance(variable, UserDefinedFunctionVariable):
        return is_defined(variable)
    return isinstance(variable, (HandleVariable, MadePartialVariable))


def _is_traced(hook: HookStatement) -> bool:
    """Tell whether a body becomes operations of the graph."""
    recorder = Recorder(lambda v: Handle(0) if isinstance(v, HandleVariable) else None)
    node = recorder.node(hook.hook)
    if isinstance(node, Loaded):
        return _is_fixed(hook.hook) and bodies.decide(hook.hook.get_py_value()).traced
    if not isinstance(node, Function):
        return False
    maker = Maker({i: _stand_in(load) for i, load in enumerate(recorder.loads)}, Handle)
    function = maker.make(node)
    maker.finish()
    del maker  # who refers to a cell could change it
    return bodies.decide(function).traced


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
        return VariableCreator().get_variable(load.meta)
    if isinstance(load, (ConstantVariable, ModuleVariable, PaddleApiVariable)):
        return load.get_py_value()
    return object() if isinstance(load, VariableBase) else types.CellType(object())


def _name(hook: VariableBase) -> str:
    if isinstance(hook, (UserDefinedFunctionVariable, MethodVariable)):
        function = hook.fn if isinstance(hook, MethodVariable) else hook
        return function.value.__qualname__
    return getattr(hook.get_py_type(), "__qualname__", "hook")


def _escaping(graph: Any, returned: Sequence[VariableBase]) -> Iterator[VariableBase]:
    """Yield what outlives the graph: what the frame goes on with, and its side effects."""
    for variable in returned:
        yield from variable.flatten_inner_vars()
    for variable in graph.side_effects.proxy_variables:
        if isinstance(variable, ContainerVariable):
            yield from variable.flatten_inner_vars()
        else:
            proxy = variable.proxy if isinstance(variable, GlobalVariable) else variable.attr_proxy
            for mutation in proxy.records:
                if not isinstance(mutation, MutationDel):
                    yield from mutation.value.flatten_inner_vars()


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
    removed = _removed(sir.statements)
    hooks = [hook for hook in recorded if hook not in removed]
    if not hooks:
        sir.statements = [s for s in sir.statements if s not in removed and not isinstance(s, RemoveStatement)]
        return None
    outside = [*removed, *(hook for hook in hooks if hook.is_eager)]
    sir.statements = [
        s for s in sir.statements if not (isinstance(s, RemoveStatement) or s in outside)
    ]
    settled = Settled(graph, hooks, list(_escaping(graph, returned)))
    for hook in recorded:  # the statements live as long as the process
        del hook.target, hook.hook
    return settled
