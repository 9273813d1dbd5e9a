"""Hooks in SOT, Paddle's default mode, without a graph break: what changes in SOT itself.

SOT simulates the bytecode of a frame, records tensor operations as statements, and compiles these
to one graph. `register_hook` used to break the graph; here it is recorded (`sot_recording`).
`sot_settling` says what becomes of the record, `sot_fallback` which frames run eagerly as before.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import paddle
from paddle.base import core

from . import (
    bodies,
    sot_emitting,
    sot_fallback,
    sot_marks,
    sot_objects,
    sot_recording,
    sot_runs,
    sot_settling,
)
from .patching import Patch
from .sot_rebuild import FRAME, count_cells
from .sot_surfaces import (
    ClassVariable,
    FallbackError,
    FunctionGraph,
    InferMetaCache,
    LayerInferMetaCache,
    MethodVariable,
    OpcodeExecutor,
    OpcodeExecutorBase,
    PaddleApiVariable,
    PartialVariable,
    TensorFunctionVariable,
    TensorVariable,
    VariableBase,
    inline_for_iter_impl,
    no_eval_frame,
    object_equal_faster_guard,
    object_equal_stringified_guard,
    pycode_generator,
)

_FIRST = "_static_hooks_first"


def _record_hooks(original: Callable[..., Any]) -> Callable[..., Any]:
    def call_function(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if self.method_name != "register_hook" or not isinstance(args[0], TensorVariable):
            return original(self, *args, **kwargs)
        return sot_recording.record(self.graph, *args, **kwargs)

    return call_function


def _mark_hooks(original: Callable[..., Any]) -> Callable[..., Any]:
    def call_function(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if self.value in (bodies.traced, bodies.callback):
            return sot_recording.mark(self.value, *args, **kwargs)
        if getattr(self.value, "__func__", self.value) is paddle.Tensor.register_hook:
            reason = "`register_hook` comes from outside the function"
            sot_fallback.fall_back(reason, *sot_fallback.site())
        return original(self, *args, **kwargs)

    return call_function


def _settle_hooks(original: Callable[..., Any]) -> Callable[..., Any]:
    def compile_graph(self: Any, *ret_vars: VariableBase) -> Any:
        settled = sot_settling.settle(self, ret_vars)
        if settled is None:
            setattr(self, _FIRST, sot_emitting.Marking(self, ret_vars))
            return original(self, *ret_vars)
        setattr(self, _FIRST, sot_emitting.Prologue(settled))
        return original(self, *ret_vars, *settled.returned)

    return compile_graph


def _make_hooks(original: Callable[..., Any]) -> Callable[..., Any]:
    def compile_function(self: Any, compile_graph_result: Any, ret_vars: list[Any]) -> None:
        # What comes first among the variables to reconstruct is reconstructed right after the call
        # of the graph.
        first = getattr(self, _FIRST)
        function, (sir, inputs, *rest) = compile_graph_result
        first.outputs = rest[-1]
        original(self, (function, (sir, first.inputs(inputs), *rest)), [first, *ret_vars])

    return compile_function


def _remember_frame(original: Callable[..., Any]) -> Callable[..., Any]:
    def push_new_fn_on_stack(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.stack.top.value.__dict__[FRAME] = self.vframe

    return push_new_fn_on_stack


def _simulate_objects(original: Callable[..., Any]) -> Callable[..., Any]:
    def call_function(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        made = None
        if sot_fallback.in_hooked_frame():
            made = sot_objects.make(self, *args, **kwargs)
        return original(self, *args, **kwargs) if made is None else made

    return call_function


def _simulate_loops(original: Callable[..., Any]) -> Callable[..., Any]:
    def FOR_ITER(self: Any, instr: Any) -> Any:  # noqa: N802 - the name of an instruction
        if sot_fallback.is_loop_simulated(self):
            return inline_for_iter_impl(self, instr)
        return original(self, instr)

    return FOR_ITER


def _check_call(original: Callable[..., Any]) -> Callable[..., Any]:
    def _break_graph_when_call(self: Any, origin_stack: Any, instr: Any, push_n: Any) -> None:
        sot_fallback.check_break(self, list(origin_stack), instr)
        original(self, origin_stack, instr, push_n)

    return _break_graph_when_call


def _check_if(original: Callable[..., Any]) -> Callable[..., Any]:
    def _break_graph_when_if(self: Any, result: Any, instr: Any) -> None:
        sot_fallback.check_break(self, list(self.stack), instr)
        original(self, result, instr)

    return _break_graph_when_if


def _fall_back_whole(original: Callable[..., Any]) -> Callable[..., Any]:
    def transform(self: Any, frame: types.FrameType) -> Any:
        if not sot_fallback.frame_may_register(self, 0):
            return original(self, frame)
        sot_fallback.guard_gradients()  # a tensor may be hooked if it does not stop gradients
        try:
            return original(self, frame)
        except FallbackError as error:
            # Graphs of what it calls would cut tensors off from the hooks that it registers itself.
            error.disable_eval_frame |= sot_fallback.registers(self)
            sot_fallback.note(error, self)
            raise

    return transform


def _mind_gradients(original: Callable[..., Any]) -> Callable[..., Any]:
    def key_fn(self: Any, *args: Any, **kwargs: Any) -> Any:
        return paddle.is_grad_enabled(), original(self, *args, **kwargs)

    return key_fn


def _check_output(original: Callable[..., Any]) -> Callable[..., Any]:
    method = original.__name__

    @functools.wraps(original)
    @paddle.jit.marker.unified
    @no_eval_frame  # type: ignore[untyped-decorator] # no graph is in what registers a hook
    def checked(self: paddle.Tensor, *args: Any, **kwargs: Any) -> Any:
        sot_marks.check_returned(self, method)
        return original(self, *args, **kwargs)

    return checked


def _note_create_graph(original: Callable[..., Any]) -> Callable[..., Any]:
    def run_partial_grad(*args: Any) -> Any:
        with sot_runs.differentiating(is_twice=bool(args[4])):
            return original(*args)

    return run_partial_grad


def _note_pass(original: Callable[..., Any]) -> Callable[..., Any]:
    def run_backward(*args: Any) -> Any:
        with sot_runs.differentiating():
            return original(*args)

    return run_backward


_EXECUTOR = "python/paddle/jit/sot/opcode_translator/executor/"
_FRAME = _EXECUTOR + "opcode_executor.py::OpcodeExecutor."


def _constant(replacement: Any) -> Callable[[Any], Any]:
    return lambda original: replacement


_GUARDS = {
    "make_stringified_guard": object_equal_stringified_guard,
    "make_faster_guard": object_equal_faster_guard,
}

PATCHES: list[Patch] = [
    Patch(
        TensorFunctionVariable, "call_function", _record_hooks, ("self", "args", "kwargs"),
        _EXECUTOR + "variables/callable.py::TensorFunctionVariable.call_function",
        "Record `register_hook` as a statement instead of breaking the graph.",
    ),
    Patch(
        PaddleApiVariable, "call_function", _mark_hooks, ("self", "args", "kwargs"),
        _EXECUTOR + "variables/callable.py::PaddleApiVariable.call_function",
        "Let `@traced` and `@callback` mark a function that the frame defines.",
    ),
    Patch(
        FunctionGraph, "compile_graph", _settle_hooks, ("self", "ret_vars"),
        _EXECUTOR + "function_graph.py::FunctionGraph.compile_graph",
        "Settle the recorded hooks; let the graph return what hooks of a run capture.",
    ),
    Patch(
        FunctionGraph, "compile_function", _make_hooks,
        ("self", "compile_graph_result", "ret_vars"),
        _EXECUTOR + "function_graph.py::FunctionGraph.compile_function",
        "After the call of the graph, make the hooks of the run.",
    ),
    Patch(
        OpcodeExecutorBase, "push_new_fn_on_stack", _remember_frame,
        ("self", "codeobj", "global_dict", "fn_name"),
        _EXECUTOR + "opcode_executor.py::OpcodeExecutorBase.push_new_fn_on_stack",
        "Let a function remember the frame that defines it, so that real code can make it.",
    ),
    Patch(
        pycode_generator, "modify_vars", count_cells, ("instructions", "code_options"),
        "python/paddle/jit/sot/opcode_translator/instruction_utils/instruction_utils.py::modify_vars",
        "Count the cells of the frame: the variables of outer functions come after them.",
    ),
    Patch(
        ClassVariable, "call_function", _simulate_objects, ("self", "args", "kwargs"),
        _EXECUTOR + "variables/callable.py::ClassVariable.call_function",
        "Let a `functools.partial` or an object that a frame makes hold tensors.",
    ),
    *(
        Patch(
            kind, guard, _constant(by_value), ("self",),
            f"{_EXECUTOR}variables/callable.py::{kind.__name__}.{guard}",
            "Compare objects: the guard of today compares with a `repr`, which no code can be.",
        )
        for kind in (MethodVariable, PartialVariable)
        for guard, by_value in _GUARDS.items()
    ),
    Patch(
        OpcodeExecutor, "FOR_ITER", _simulate_loops, ("self", "instr"), _FRAME + "FOR_ITER",
        "Simulate a loop in place where its function has closures.",
    ),
    Patch(
        OpcodeExecutor, "_break_graph_when_call", _check_call, None,
        _FRAME + "_break_graph_when_call",
        "Refuse a break that would cut a tensor off from its later hooks.",
    ),
    Patch(
        OpcodeExecutor, "_break_graph_when_if", _check_if, None,
        _FRAME + "_break_graph_when_if",
        "Refuse a break that would cut a tensor off from its later hooks.",
    ),
    Patch(
        OpcodeExecutor, "transform", _fall_back_whole, ("self", "frame"), _FRAME + "transform",
        "Where a frame that registers hooks runs eagerly, let all that it calls run eagerly.",
    ),
    *(
        Patch(
            cache, "key_fn", _mind_gradients, ("self",),
            f"python/paddle/jit/sot/infer_meta.py::{cache.__name__}.key_fn",
            "Key by whether gradients are on: what was inferred under `no_grad` stops gradients.",
        )
        for cache in (InferMetaCache, LayerInferMetaCache)
    ),
    *(
        Patch(
            paddle.Tensor, method, _check_output, None,
            "paddle/fluid/pybind/eager_method.cc::tensor_" + method,
            "Refuse a tensor whose gradient is partly inside the graph that returned it.",
        )
        for method in ("register_hook", "retain_grads")
    ),
    Patch(
        core.eager, "run_partial_grad", _note_create_graph, None,
        "paddle/fluid/pybind/eager_functions.cc::run_partial_grad",
        "Refuse to differentiate a compiled graph twice, instead of returning zeros.",
    ),
    Patch(
        core.eager, "run_backward", _note_pass, None,
        "paddle/fluid/pybind/eager_functions.cc::run_backward",
        "Say of a graph that it can't be run backward twice, when it can't.",
    ),
]  # fmt: skip
