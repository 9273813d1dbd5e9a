"""Hooks in SOT, Paddle's default mode, without a graph break.

SOT simulates the bytecode of a frame, records tensor operations as statements, and compiles these to
one graph. `register_hook` used to break the graph. Here it is one more statement: when the statements
are traced, it registers a hook on the traced value, and the rest of the package does its work. What
hook that is, is settled when the frame is complete:

- a body of tensor operations alone is registered as it is, with the frame's values in its cells;
- any other hook is made anew at each run (`sot_runs`), and the graph calls the one of its run;
- a hook on a tensor that came from outside is registered on that eager tensor at each run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from paddle.jit.sot.infer_meta import VariableCreator
from paddle.jit.sot.opcode_translator.executor.function_graph import (
    FunctionGraph,
    record_symbols,
)
from paddle.jit.sot.opcode_translator.executor.mutable_data import MutationDel
from paddle.jit.sot.opcode_translator.executor.opcode_executor import OpcodeExecutorBase
from paddle.jit.sot.opcode_translator.executor.tracker import DummyTracker
from paddle.jit.sot.opcode_translator.executor.variables.base import VariableBase
from paddle.jit.sot.opcode_translator.executor.variables.basic import (
    CellVariable,
    ConstantVariable,
    GlobalVariable,
    ModuleVariable,
    TensorVariable,
)
from paddle.jit.sot.opcode_translator.executor.variables.callable import (
    CallableVariable,
    MethodVariable,
    PaddleApiVariable,
    TensorFunctionVariable,
    UserDefinedFunctionVariable,
)
from paddle.jit.sot.opcode_translator.executor.variables.container import ContainerVariable
from paddle.jit.sot.symbolic.statement_ir import Statement

from . import bodies, sot_fallback
from .registration import HookHandle
from .sot_rebuild import FRAME, Handle, Loaded, Maker, Recorder
from .sot_runs import Arming, Recipe, RunHook

_SETTLED = "_static_hooks_settled"


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
        self.graph = graph
        self.exports = [variable for variable in escaping if _is_made_here(variable)]
        kept: list[HookStatement] = []
        look = Recorder(lambda variable: _handle(variable, kept))
        for variable in [*(hook.hook for hook in hooks), *self.exports]:
            look.node(variable)
        traced = [h for h in hooks if not (h.is_eager or h in kept) and _is_traced(h)]
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
            )
            for hook in hooks
        ]  # fmt: skip
        self.arming = Arming(recipes, [recorder.node(variable) for variable in self.exports])
        for index, hook in enumerate(hooks):
            hook.register = functools.partial(_register, RunHook(self.arming, index))
        self.loads = [self._without_gradient(load) for load in recorder.loads]

    def _without_gradient(self, load: Any) -> Any:
        """Replace a tensor of the graph by one that no gradient flows through."""
        if isinstance(load, TensorVariable) and not load.tracker.is_traceable():
            return self.graph.call_tensor_method("detach", load)
        return load

    def reconstruct(self, codegen: Any, outputs: Sequence[TensorVariable]) -> None:
        """Emit the call of `arming`, and the stores of what it makes for the frame."""
        for load in self.loads:
            if isinstance(load, ContainerVariable) and not load.tracker.is_traceable():
                load.reconstruct(codegen)  # once, so that the hook and the frame share it
                _store(codegen, load)
        codegen.gen_load_object(self.arming, f"___static_hooks_arm_{id(self.arming)}")
        for load in self.loads:
            load.reconstruct(codegen)
        codegen.gen_build_tuple(len(self.loads))
        for tensor in outputs:
            codegen.gen_load_fast(tensor.out_var_name)
        codegen.gen_build_tuple(len(outputs))
        codegen.gen_call_function(2)
        codegen.gen_unpack_sequence(len(self.exports))
        for variable in self.exports:
            _store(codegen, variable)


def _store(codegen: Any, variable: VariableBase) -> None:
    """Store what is on the stack as `variable`; from now on the frame loads it from there."""
    name = f"___static_hooks_{variable.id}"
    codegen.gen_store_fast(name)
    variable.reconstruct = lambda codegen, **_: codegen.gen_load_fast(name)


def _register(hook: Any, value: Any) -> Any:
    return value.register_hook(hook)


def _handle(variable: VariableBase, hooks: list[HookStatement]) -> Handle | None:
    """Recognise the handle of a hook; while looking around, `hooks` collects them."""
    if not isinstance(variable, HandleVariable):
        return None
    if variable.statement not in hooks:
        hooks.append(variable.statement)
    return Handle(hooks.index(variable.statement))


def _is_made_here(variable: VariableBase) -> bool:
    if isinstance(variable, UserDefinedFunctionVariable):
        return FRAME in variable.value.__dict__
    return isinstance(variable, HandleVariable)


def _is_traced(hook: HookStatement) -> bool:
    """Tell whether a body becomes operations of the graph."""
    recorder = Recorder(lambda variable: Handle(0) if isinstance(variable, HandleVariable) else None)
    node = recorder.node(hook.hook)
    if isinstance(node, Loaded):
        return _is_fixed(hook.hook) and bodies.decide(hook.hook.get_py_value()).traced
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
    return object()


def _name(hook: VariableBase) -> str:
    if isinstance(hook, (UserDefinedFunctionVariable, MethodVariable)):
        function = hook.fn if isinstance(hook, MethodVariable) else hook
        return function.value.__qualname__
    return getattr(hook.get_py_type(), "__qualname__", "hook")


def _escaping(graph: Any, returned: Sequence[VariableBase]) -> Iterator[VariableBase]:
    """Yield what outlives the graph: what the frame goes on with, and its side effects."""
    for variable in returned:
        if not isinstance(variable, CellVariable):
            yield from variable.flatten_inner_vars()
    for variable in graph.side_effects.proxy_variables:
        if isinstance(variable, ContainerVariable):
            yield from variable.flatten_inner_vars()
        else:
            proxy = variable.proxy if isinstance(variable, GlobalVariable) else variable.attr_proxy
            for mutation in proxy.records:
                if not isinstance(mutation, MutationDel):
                    yield from mutation.value.flatten_inner_vars()


def around_call_function(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap SOT's call of a tensor method."""

    def call_function(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if self.method_name != "register_hook" or not isinstance(args[0], TensorVariable):
            return original(self, *args, **kwargs)
        return record(self.graph, *args, **kwargs)

    return call_function


def around_compile_graph(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the compilation of a frame's statements, at its end or at a graph break."""

    def compile_graph(self: Any, *returned: VariableBase) -> Any:
        sir = self.sir_builder.current_sir
        statements = sir.statements
        recorded = [s for s in statements if isinstance(s, HookStatement)]
        if not recorded:
            return original(self, *returned)
        sot_fallback.check_statements(statements, recorded[0].file, recorded[0].line)
        removed = _removed(statements)
        hooks = [hook for hook in recorded if hook not in removed]
        in_graph = [hook for hook in hooks if not hook.is_eager]
        sir.statements = [
            s for s in statements
            if not isinstance(s, (HookStatement, RemoveStatement)) or s in in_graph
        ]  # fmt: skip
        settled = Settled(self, hooks, list(_escaping(self, returned)))
        setattr(self, _SETTLED, settled)
        extra = [load for load in settled.loads if isinstance(load, VariableBase)]
        result = original(self, *returned, *extra)
        for hook in recorded:
            del hook.target, hook.hook  # the statements live as long as the process
        return result

    return compile_graph


def around_compile_function(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the generation of the code that replaces a frame."""

    def compile_function(self: Any, result: Any, returned: list[Any]) -> None:
        settled = getattr(self, _SETTLED, None)
        if settled is not None and (settled.arming.recipes or settled.exports):
            returned = [_Prologue(settled, result[1][3]), *returned]
        original(self, result, returned)

    return compile_function


class _Prologue:
    """Comes first in what the frame goes on with: emits the code that makes the run's hooks."""

    def __init__(self, settled: Settled, outputs: Sequence[Any]) -> None:
        self.settled, self.outputs = settled, outputs

    def reconstruct(self, codegen: Any) -> None:
        tensors = [output for output in self.outputs if isinstance(output, TensorVariable)]
        self.settled.reconstruct(codegen, tensors)


def around_push_new_fn(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the simulation of a function definition: the function remembers its frame."""

    def push_new_fn_on_stack(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.stack.top.value.__dict__[FRAME] = self.vframe

    return push_new_fn_on_stack


_EXECUTOR = "python/paddle/jit/sot/opcode_translator/executor/"
# (owner, attribute, replace, parameters, upstream, change): see `patches.Patch`.
SURFACES: list[tuple[Any, str, Callable[[Any], Any], tuple[str, ...] | None, str, str]] = [
    (
        TensorFunctionVariable, "call_function", around_call_function, ("self", "args", "kwargs"),
        _EXECUTOR + "variables/callable.py::TensorFunctionVariable.call_function",
        "Record `register_hook` as a statement instead of breaking the graph.",
    ),
    (
        FunctionGraph, "compile_graph", around_compile_graph, ("self", "ret_vars"),
        _EXECUTOR + "function_graph.py::FunctionGraph.compile_graph",
        "Settle the recorded hooks; return what hooks of a run need from the graph.",
    ),
    (
        FunctionGraph, "compile_function", around_compile_function,
        ("self", "compile_graph_result", "ret_vars"),
        _EXECUTOR + "function_graph.py::FunctionGraph.compile_function",
        "After the graph's call, make the hooks of the run.",
    ),
    (
        OpcodeExecutorBase, "push_new_fn_on_stack", around_push_new_fn,
        ("self", "codeobj", "global_dict", "fn_name"),
        _EXECUTOR + "opcode_executor.py::OpcodeExecutorBase.push_new_fn_on_stack",
        "Remember the frame that defines a function, so that it can be made in real code.",
    ),
    *sot_fallback.SURFACES,
]  # fmt: skip
