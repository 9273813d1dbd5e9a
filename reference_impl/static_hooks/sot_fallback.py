"""When a frame with hooks must run eagerly, as it does in Paddle today, and why.

A graph that is right without hooks may be wrong with them, or was wrong all along and spared only
because a hook made the frame run eagerly. Such a frame, with everything that it calls, runs
eagerly; `REASONS` keeps the last few explanations.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import paddle
from paddle.utils import flatten

from .codes import nested
from .sot_surfaces import (
    CellVariable,
    ConditionalFallbackError,
    ConstantVariable,
    FallbackError,
    IterVariable,
    LayerVariable,
    MethodVariable,
    OpcodeExecutorBase,
    Statement,
    StringifiedExpression,
    TensorFunctionVariable,
    TensorVariable,
    Tracker,
    UserDefinedIterVariable,
    VariableBase,
    analysis_used_names,
)

_REGISTER = "register_hook"


@dataclass(frozen=True)
class Reason:
    """Why a function runs eagerly.

    Attributes:
        code: the function.
        file, line: the instruction that can't be kept in a graph.
        why: in words.
        is_whole: whether all that it calls runs eagerly too.
    """

    code: types.CodeType
    file: str
    line: int
    why: str
    is_whole: bool = True

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: the function runs eagerly, since {self.why}"

    def covers(self, target: types.CodeType | None, file: str, line: int) -> bool:
        """Tell whether a hook that a call of `target` registers at a line is registered eagerly."""
        if self.code is target:
            return self.is_whole
        lines = [number for _, _, number in self.code.co_lines() if number is not None]
        return file == self.code.co_filename and min(lines) <= line <= max(lines)


REASONS: deque[Reason] = deque(maxlen=20)


def site() -> tuple[str, int]:
    """Return file and line of the instruction that is being simulated."""
    executor = OpcodeExecutorBase.call_stack[-1]
    return executor.vframe.code.co_filename, executor._current_line


def fall_back(reason: str, file: str, line: int) -> NoReturn:
    """Let the frame that is being simulated, and all that it calls, run eagerly."""
    guard_gradients()
    REASONS.append(Reason(OpcodeExecutorBase.call_stack[0].vframe.code, file, line, reason))
    raise ConditionalFallbackError(str(REASONS[-1]), disable_eval_frame=True)


def note(error: FallbackError, executor: Any) -> None:
    """Keep the reason of SOT's own for running a frame eagerly that may register a hook."""
    if not isinstance(error, ConditionalFallbackError):
        code, line = executor.vframe.code, executor._current_line
        told = [line.strip() for line in str(error).splitlines() if line.strip()]
        why = f"SOT can't simulate it: {' '.join(told[:2])}"
        REASONS.append(Reason(code, code.co_filename, line, why, error.disable_eval_frame))


def guard_gradients() -> bool:
    """Tell whether gradients are on, and let the frame be compiled anew when that changes."""
    graph, is_on = OpcodeExecutorBase.call_stack[0]._graph, paddle.is_grad_enabled()
    graph.add_global_guarded_variable(ConstantVariable(is_on, graph, _ModeTracker()))
    return is_on


class _Modes:
    """State outside the frame that a graph with hooks depends on."""

    @property
    def gradients(self) -> bool:
        return paddle.is_grad_enabled()


_MODES = _Modes()


class _ModeTracker(Tracker):
    """Finds the state again when a guard is checked."""

    def __init__(self) -> None:
        super().__init__([])

    def guard_tree_expr_node(self) -> Any:
        core = paddle.framework.core
        return core.AttributeExprNode(core.ConstantExprNode(_MODES), "gradients")

    def trace_value_from_frame(self) -> StringifiedExpression:
        return StringifiedExpression("__modes.gradients", [], {"__modes": _MODES})


def check_target(graph: Any, target: TensorVariable) -> None:
    """Let the frame run eagerly if the tensor can't be hooked in a graph."""
    if not guard_gradients():
        fall_back("gradients are off, and Paddle keeps a graph compiled without them", *site())
    if not graph._kwargs.get("training", True):
        for variable in OpcodeExecutorBase.call_stack[0].vframe.locals.values():
            if isinstance(variable, LayerVariable):
                graph.add_global_guarded_variable(variable)
        fall_back("Paddle compiles no backward in evaluation mode", *site())
    if target.meta.unwrap_or_breakgraph().stop_gradient:
        fall_back("its tensor stops gradients", *site())
    if target in graph._inplace_tensors and target.tracker.is_traceable():
        fall_back("its tensor is an input that was changed in place", *site())


def check_statements(statements: Sequence[Statement], file: str, line: int) -> None:
    """Let the frame run eagerly if Paddle's graph of it is wrong with no hook at all."""
    for statement in statements:
        name = statement.name.rpartition(".")[2]
        if name == "setitem" or (name.endswith("_") and not name.endswith("__")):
            fall_back(f"Paddle's graph is wrong about in-place changes ({name})", file, line)
        if statement.type == "api" and name == "grad":
            fall_back("it differentiates inside the function (paddle.grad)", file, line)


def _may_register(found: Any, seen: set[Any]) -> bool:
    """Tell whether a call of `found`, or of what it reaches by name, might register a hook."""
    if isinstance(found, paddle.nn.Layer):
        return any(_may_register(type(layer), seen) for layer in found.sublayers(include_self=True))
    found = getattr(found, "__func__", found)
    if not isinstance(found, (type, types.FunctionType)) or found in seen or _is_foreign(found):
        return False
    seen.add(found)
    if isinstance(found, type):
        return any(_may_register(m, seen) for base in found.__mro__ for m in vars(base).values())
    names = _names(found.__code__)
    reached = _find(names, found.__globals__)
    return _REGISTER in names or any(_may_register(item, seen) for item in reached)


def _names(code: types.CodeType) -> set[str]:
    return {name for part in (code, *nested(code)) for name in part.co_names}


def _find(names: Iterable[str], namespace: dict[str, Any]) -> list[Any]:
    """Look names up in a module's globals, and as attributes of the modules found there."""
    found = [namespace[name] for name in names if name in namespace]
    modules = [module for module in found if isinstance(module, types.ModuleType)]
    members = [getattr(m, name, None) for m in modules if not _is_foreign(m) for name in names]
    return [*found, *members]


def _is_foreign(found: Any) -> bool:
    name = found.__name__ if isinstance(found, types.ModuleType) else found.__module__
    # That of a function which a simulated frame defines may be a variable of the simulation.
    return str(name).partition(".")[0] in ("paddle", "numpy", "builtins", "static_hooks")


def registers(executor: Any) -> bool:
    """Tell whether a frame has code of its own that registers a hook."""
    return _REGISTER in _names(executor.vframe.code)


def frame_may_register(executor: Any, start: int) -> bool:
    """Tell whether a frame might register a hook from one of its instructions on."""
    names: set[str] = set()
    for instruction in executor._instructions[start:]:
        if isinstance(instruction.argval, types.CodeType):
            names |= _names(instruction.argval)
        elif isinstance(instruction.argval, str):
            names.add(instruction.argval)
    local = [_content(variable) for variable in executor.vframe.locals.values()]
    reached = [value if callable(value) else type(value) for value in local]
    reached += _find(names, executor.vframe.globals.proxy.original_data)
    seen: set[Any] = set()
    return _REGISTER in names or any(_may_register(found, seen) for found in reached)


def _content(variable: Any) -> Any:
    """Return what a variable of the simulation stands for, as far as it may hold code."""
    return getattr(_uncelled(variable), "value", None)


def _uncelled(variable: Any) -> Any:
    return variable.cell_content() if isinstance(variable, CellVariable) else variable


def check_break(executor: Any, stack: Sequence[Any], instruction: Any) -> None:
    """Let a frame run eagerly if a graph break would cut a tensor off from its later hooks.

    What a graph returns is hooked with its uses outside the graph only. So a tensor that the graph
    itself uses must not be hooked after the break.
    """
    index = executor.indexof(instruction)
    at = executor.vframe.code.co_filename, executor._current_line
    if _has_closures(executor) and _is_in_loop(executor, index):
        fall_back("a graph break is in a loop of a function with closures", *at)
    called = [found for found in map(_content, stack) if _is_user_function(found)]
    later = frame_may_register(executor, index + 1) or any(map(_is_registration, stack))
    if later and called:
        fall_back("a call that breaks the graph may return a tensor that is hooked later", *at)
    if (later or any(_may_register(f, set()) for f in called)) and _is_used(executor, stack, index):
        fall_back("a tensor that is used before a graph break may be hooked after it", *at)


def _is_used(executor: Any, stack: Sequence[Any], index: int) -> bool:
    """Tell whether the graph before a break uses a tensor that is still reachable after it."""
    try:
        names, _ = analysis_used_names(executor._instructions, index)
    except RecursionError:  # it goes round some loops for ever
        at = executor.vframe.code.co_filename, executor._current_line
        fall_back("SOT's analysis of the names used after a graph break does not end", *at)
    variables = [executor.get_var(name, allow_undefined=True) for name in names]
    used = used_symbols(executor._graph.sir_builder.current_sir.statements)
    return any(
        tensor.get_symbol().name in used
        for variable in map(_uncelled, [*variables, *stack])
        if isinstance(variable, VariableBase)
        for tensor in variable.flatten_inner_vars()
        if isinstance(tensor, TensorVariable) and not tensor.tracker.is_traceable()
    )


def used_symbols(statements: Sequence[Statement]) -> set[str]:
    """Return the names of the tensors that statements take."""
    return {str(item) for statement in statements for item in flatten(statement.inputs)}


def _is_registration(variable: Any) -> bool:
    """Tell whether a variable is the method `register_hook` of a tensor."""
    function = variable.fn if isinstance(variable, MethodVariable) else variable
    return isinstance(function, TensorFunctionVariable) and function.method_name == _REGISTER


def _is_user_function(found: Any) -> bool:
    if isinstance(found, paddle.nn.Layer):
        return not _is_foreign(type(found))
    return isinstance(found, types.FunctionType) and not _is_foreign(found)


def _is_in_loop(executor: Any, index: int) -> bool:
    loops = [instr for instr in executor._instructions if instr.opname == "FOR_ITER"]
    return any(executor.indexof(i) <= index < executor.indexof(i.jump_to) for i in loops)


def in_hooked_frame() -> bool:
    """Tell whether the function that is being simulated registers hooks in its own code."""
    return registers(OpcodeExecutorBase.call_stack[-1])


def is_loop_simulated(executor: Any) -> bool:
    """Tell whether a loop is simulated in place: the way of Paddle's can't have closures."""
    iterator = executor.stack.top
    if not isinstance(iterator, IterVariable) or isinstance(iterator, UserDefinedIterVariable):
        return False
    return _has_closures(executor)


def _has_closures(executor: Any) -> bool:
    code = executor.vframe.code
    return bool(code.co_cellvars or code.co_freevars) and registers(executor)
