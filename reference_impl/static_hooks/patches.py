"""Every private surface of Paddle that this package touches: the upstream plan as code.

Each patch names the upstream file and function that it stands for and what should change there.
`enable` first verifies all surfaces, and touches nothing if one is not as expected; `disable` puts
back the very objects that were there.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import paddle
from paddle.autograd import ir_backward
from paddle.base import core, libpaddle
from paddle.jit import dy2static
from paddle.jit.dy2static import function_spec, pir_partial_program, program_translator
from paddle.jit.dy2static.transformers import transform
from paddle.pir import Value

from . import boundaries, callbacks, decorating, firing, following, registration, sot, source
from .patching import Patch, unknown
from .values import forgetting_failures, named_values

_call = threading.local()


class NoReordering:
    """Stands in for the transformer that moved `register_hook` calls to the first use."""

    def __init__(self, root: Any) -> None:
        self.root = root

    def transform(self) -> None:
        """Leave the program as the user wrote it."""


def _tensor_register_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    @paddle.jit.marker.unified
    def register_hook(self: paddle.Tensor, hook: Callable[..., Any]) -> Any:
        if paddle.in_dynamic_mode():
            return original(self, hook)
        if self.stop_gradient:
            raise RuntimeError(registration.REFUSED)
        return registration.record(paddle.static.default_main_program(), self, hook)

    return register_hook


def _remember_conversion(original: Callable[..., Any]) -> Callable[..., Any]:
    def ast_to_func(ast_root: Any, dyfunc: Any, delete_on_exit: bool = True) -> Any:
        converted, file = original(ast_root, dyfunc, delete_on_exit)
        source.remember(converted, dyfunc)
        return converted, file

    return ast_to_func


def _carrying_hooks(original: Callable[..., Any]) -> Callable[..., Any]:
    def clone(program: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(program, *args, **kwargs)
        new: Any = result if isinstance(result, libpaddle.pir.Program) else result[0]
        registration.carry_over(program, new)
        return result

    return clone


def _append_backward(original: Callable[..., Any]) -> Callable[..., Any]:
    def _append_backward(self: Any, train_runnable_program: Any) -> Any:
        runnable = boundaries.with_extra_outputs(self, train_runnable_program)
        registry = registration.of(runnable.program)
        if registry is not None:
            registry.full_backward = True
        return original(self, runnable)

    return _append_backward


def _note_arguments(original: Callable[..., Any]) -> Callable[..., Any]:
    def pir_to_static_inputs_with_spec(self: Any, input_with_spec: Any, main_program: Any) -> Any:
        arguments, inputs = original(self, input_with_spec, main_program)
        if not isinstance(arguments, dict):
            registration.note_arguments(main_program, arguments)
        return arguments, inputs

    return pir_to_static_inputs_with_spec


def _remember_arguments(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, inputs: Any) -> Any:
        outer = getattr(_call, "arguments", ())
        _call.arguments = inputs
        try:
            return original(self, inputs)
        finally:
            _call.arguments = outer

    return call


def _run(original: Callable[..., Any]) -> Callable[..., Any]:
    def call_run_impl_with_hook(self: Any, inputs: Any, parameters: Any, attrs: Any) -> Any:
        registry = registration.of(self._origin_main_program)
        # Callbacks in the forward are for a `paddle.grad` inside the function.
        run = callbacks.raising(original) if registry and registry.callbacks else original

        def execute(inputs: Any, parameters: Any) -> Any:
            return run(self, inputs, parameters, attrs)

        if boundaries.plan_of(self).is_needed:  # by this function for ever, also after `disable`
            bound = functools.partial(call_run_impl_with_hook, self)
            self.__dict__.setdefault("call_run_impl_with_hook", bound)
        arguments = getattr(_call, "arguments", ())
        return boundaries.run(self, execute, inputs, parameters, arguments)

    return call_run_impl_with_hook


_JIT = "python/paddle/jit/dy2static/"
_PARTIAL = pir_partial_program.PartialProgramLayer

PATCHES: list[Patch] = [
    Patch(
        Value, "register_hook", lambda _: registration.register_hook, ("self", "hook"),
        "python/paddle/pir/math_op_patch.py::register_hook",
        "Record the hook on the program instead of raising.",
    ),
    Patch(
        paddle.Tensor, "register_hook", _tensor_register_hook, ("self", "hook"),
        "python/paddle/base/dygraph/tensor_patch_methods.py::register_hook",
        "While a static graph is traced, record the hook instead of refusing.",
    ),
    Patch(
        transform, "RegisterHookTransformer", lambda _: NoReordering, ("root",),
        _JIT + "transformers/tensorhook_transformer.py::RegisterHookTransformer",
        "Delete it: lazy registration needs no reordering, and it hooks the wrong tensor.",
    ),
    Patch(
        transform, "DecoratorTransformer", decorating.decorating_once, ("root",),
        _JIT + "transformers/decorator_transformer.py::DecoratorTransformer",
        "Decorate a nested function when it is defined, not anew at each call.",
    ),
    Patch(
        dy2static, "IfElse", following.around_ifelse, ("pred", "true_fn", "false_fn"),
        _JIT + "convert_operators.py::convert_ifelse", "Note what hooks read where a branch ends.",
    ),
    Patch(
        program_translator, "_FUNCTION_CACHE", lambda _: program_translator.FunctionCache(), None,
        _JIT + "program_translator.py::_FUNCTION_CACHE",
        "Nothing; here it drops functions that were converted with the reordering.",
    ),
    Patch(
        program_translator, "ast_to_func", _remember_conversion,
        ("ast_root", "dyfunc", "delete_on_exit"), _JIT + "utils.py::ast_to_func",
        "Keep a weak reference from the converted function to the user's.",
    ),
    Patch(
        program_translator, "graph_tracing_guard", forgetting_failures, ("main_program",),
        _JIT + "utils.py::graph_tracing_guard", "Forget the parameters of a trace that fails.",
    ),
    Patch(
        libpaddle.pir, "clone_program", _carrying_hooks, None,
        "paddle/fluid/pybind/pir.cc::clone_program", "Clone the program's hooks with it.",
    ),
    Patch(
        libpaddle.pir.Program, "clone", _carrying_hooks, None,
        "paddle/fluid/pybind/pir.cc::Program.clone", "Clone the program's hooks with it.",
    ),
    Patch(
        ir_backward, "append_backward_ops", firing.around_append_backward_ops,
        ("base_op", "base_inputs", "base_input_grads", "fwd_block", "bwd_block"),
        "python/paddle/autograd/ir_backward.py::append_backward_ops",
        "Look up the block's hooks once before the walk.",
    ),
    Patch(
        ir_backward, "op_has_vjp", firing.around_op_has_vjp, ("op",),
        "python/paddle/autograd/ir_backward.py::append_backward_ops",
        "Fire the hooks on an operation's results before its vjp is asked for.",
    ),
    Patch(
        ir_backward, "inverse_sort_op", firing.around_inverse_sort_op, ("old_ops",),
        "python/paddle/autograd/backward_utils.py::inverse_sort_op",
        "Walk in eager's order when the program has effects in its hooks.",
    ),
    Patch(
        ir_backward, "prune_ops", firing.around_prune_ops,
        ("total_ops", "inputs_set", "outputs_set", "no_grad_set"),
        "python/paddle/autograd/ir_backward.py::prune_ops",
        "Keep the operations that lead to a hooked value, and those that call back.",
    ),
    Patch(
        function_spec.FunctionSpec, "pir_to_static_inputs_with_spec", _note_arguments,
        ("self", "input_with_spec", "main_program"),
        _JIT + "function_spec.py::FunctionSpec.pir_to_static_inputs_with_spec",
        "Keep the argument containers that the traced function sees.",
    ),
    Patch(
        _PARTIAL, "__call__", _remember_arguments, ("self", "inputs"),
        _JIT + "pir_partial_program.py::PartialProgramLayer.__call__",
        "Keep the argument containers of the run for hooks that reach them.",
    ),
    Patch(
        _PARTIAL, "_append_backward", _append_backward, ("self", "train_runnable_program"),
        _JIT + "pir_partial_program.py::PartialProgramLayer._append_backward",
        "Add what hooks on inputs and parameters capture to the outputs.",
    ),
    Patch(
        _PARTIAL, "call_run_impl_with_hook", _run, ("self", "inputs", "parameters", "attrs"),
        _JIT + "pir_partial_program.py::PartialProgramLayer.call_run_impl_with_hook",
        "Register hooks on inputs and parameters on the eager tensors of the run.",
    ),
    Patch(
        pir_partial_program.RunnableProgram, "_get_program_all_values",
        lambda _: staticmethod(named_values), ("program",),
        "paddle/fluid/pybind/pir.cc::Block.kwargs",
        "Return copies: a reference that outlives its program crashes the process.",
    ),
    *(
        Patch(
            core.eager, name, callbacks.raising, None,
            f"paddle/fluid/pybind/eager_functions.cc::{name}",
            "Rethrow a Python exception with its own type.",
        )
        for name in ("run_backward", "run_partial_grad")
    ),
    Patch(
        paddle.static.Executor, "run", callbacks.raising, ("self", "program", "feed", "fetch_list"),
        "paddle/fluid/pybind/pybind.cc::StandaloneExecutor.run",
        "Rethrow a Python exception with its own type.",
    ),
    *sot.PATCHES,
]  # fmt: skip

_lock = threading.Lock()
replaced: list[tuple[Patch, Any]] = []


def verify() -> None:
    """Check every surface that the patches rely on.

    Raises:
        UnknownPaddleError: one of them is missing or has another signature.
    """
    if not paddle.framework.use_pir_api():
        raise unknown("FLAGS_enable_pir_api", "be on", "off")
    for patch in PATCHES:
        patch.verify()


def enable() -> None:
    """Make `Tensor.register_hook` work in static graphs.

    Functions that `paddle.jit.to_static` has already traced keep their programs; enable first. To
    enable twice is the same as once.

    Raises:
        UnknownPaddleError: this Paddle is not one that the package knows; nothing has been changed.
    """
    with _lock:
        if replaced:
            return
        verify()
        try:
            for patch in PATCHES:
                original = inspect.getattr_static(patch.owner, patch.attribute)
                replacement = patch.replace(getattr(patch.owner, patch.attribute))
                setattr(patch.owner, patch.attribute, replacement)
                replaced.append((patch, original))
        except BaseException:
            _put_back()
            raise


def disable() -> None:
    """Put back every attribute that `enable` replaced; to disable twice is the same as once."""
    with _lock:
        _put_back()


def _put_back() -> None:
    while replaced:
        patch, original = replaced.pop()
        setattr(patch.owner, patch.attribute, original)


@contextmanager
def enabled() -> Iterator[None]:
    """Enable for the time of a `with` block; what was enabled before stays enabled after it."""
    was_enabled = bool(replaced)
    enable()
    try:
        yield
    finally:
        if not was_enabled:
            disable()
