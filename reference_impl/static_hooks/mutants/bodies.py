"""Wrong designs of what a body sees and may do."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import paddle

from .. import bodies, callbacks, captures, registration, source
from ..surfaces import Value
from .registry import NEVER, WHEN_RAISED, Replacements, each_hook, mutant, when, when_result

NUMBERS = (bool, int, float)


@mutant("None from a hook counts as a gradient of zeros.")
def none_is_zero() -> Replacements:
    def wrap(hook: Callable[..., Any]) -> Callable[..., Any]:
        def zeroing(gradient: Any) -> Any:
            result = hook(gradient)
            return paddle.zeros_like(gradient) if result is None else result

        return zeroing

    return each_hook(wrap)


@mutant("What a hook returns is ignored, as on the output of a PyLayer in eager mode.")
def ignores_the_result() -> Replacements:
    def wrap(hook: Callable[..., Any]) -> Callable[..., Any]:
        def observing(gradient: Any) -> None:
            hook(gradient)

        return observing

    return each_hook(wrap)


@mutant(
    "Every body is traced once, and its effects are lost afterwards.",
    "MindSpore's graph mode, which drops counters and list appends in a hook",
)
def effects_once() -> Replacements:
    def decide(hook: Any, owner: Any = None) -> bodies.Decision:
        return bodies.Decision(True, "every body is traced")

    yield bodies, "decide", decide, when_result(lambda decision: not decision.traced)


@mutant(
    "Every body is called back, whatever it does.",
    "PaddlePaddle/Paddle#48234 (py_func for every hook)",
)
def never_traces() -> Replacements:
    def decide(hook: Any, owner: Any = None) -> bodies.Decision:
        return bodies.Decision(False, "every body is called back")

    yield bodies, "decide", decide, when_result(lambda decision: decision.traced)


@mutant(
    "Numbers that a body reads are those of the first trace.",
    "jax.custom_vjp, which freezes Python state when it traces",
)
def frozen_state() -> Replacements:
    def wrap(hook: Any) -> Any:
        if not isinstance(hook, types.FunctionType):
            return hook
        cells = tuple(_frozen(cell) for cell in hook.__closure__ or ())
        names = dict(hook.__globals__)
        frozen = types.FunctionType(
            hook.__code__, names, hook.__name__, hook.__defaults__, cells or None
        )
        frozen.__kwdefaults__ = hook.__kwdefaults__
        return frozen

    return each_hook(wrap, lambda placed: _numbers_of(placed.hook))


def _numbers_of(hook: Any) -> list[Any]:
    """Return what a hook can reach of numbers outside of it."""
    if not isinstance(hook, types.FunctionType):
        return []
    read = inspect.getclosurevars(hook)
    return [v for v in {**read.nonlocals, **read.globals}.values() if isinstance(v, NUMBERS)]


def _frozen(cell: types.CellType) -> types.CellType:
    try:
        content = cell.cell_contents
    except ValueError:
        return cell
    return types.CellType(content) if isinstance(content, NUMBERS) else cell


@mutant("A hook keeps the code that AST conversion made of it.")
def keeps_converted_code() -> Replacements:
    restore = source.restore

    def keep(hook: Any, origin: Any = None) -> Any:
        return hook

    def differs(hook: Any, origin: Any = None) -> bool:
        return restore(hook, origin) is not hook

    yield source, "restore", keep, when(differs)


@mutant("A body sees only what its variables held when it was registered.")
def captures_early() -> Replacements:
    record, look = registration.record, registration.Registration.look
    early: dict[Any, list[captures.Slot]] = {}

    def capturing(program: Any, target: Any, hook: Any) -> Any:
        handle = record(program, target, hook)
        registry = registration.of(program)
        containers = registry.containers if registry else ()
        early[handle._registration] = captures.find(source.restore(hook), containers)
        return handle

    def with_early_slots(self: Any, registry: Any) -> Any:
        placed = look(self, registry)
        return replace(placed, slots=early.get(self, []))

    yield registration, "record", capturing, NEVER
    yield registration.Registration, "look", with_early_slots, when_result(lambda p: p.slots)


@mutant("Lists and dicts that the caller passes are copies in the hook.")
def copies_arguments() -> Replacements:
    yield captures, "containers_in", lambda arguments: [], when_result(bool)


@mutant("A body runs under the automatic mixed precision that is on when it is traced.")
def keeps_autocast() -> Replacements:
    def wrap(hook: Callable[..., Any]) -> Callable[..., Any]:
        def in_low_precision(gradient: Any) -> Any:
            with paddle.amp.auto_cast(level="O2", dtype="bfloat16"):
                result = hook(gradient)
            return None if result is None else result.astype(gradient.dtype)

        return in_low_precision

    return each_hook(wrap)


@mutant("An exception in a body is swallowed, and the gradient goes on unchanged.")
def swallows_exceptions() -> Replacements:
    call = callbacks.call

    def swallowing(entry: Any, placed: Any, run: Any, gradient: Any, captured: Any) -> Any:
        try:
            return call(entry, placed, run, gradient, captured)
        except Exception:  # that is the mutation
            return gradient.clone()

    yield callbacks, "call", swallowing, WHEN_RAISED


@mutant(
    "An exception in a body surfaces as the SystemError that the executor makes of it.",
    "paddle.static.register_op in Paddle 3.3",
)
def raw_exceptions() -> Replacements:
    yield callbacks, "take_failure", lambda: None


@mutant(
    "Whatever a body returns goes on as the gradient.",
    "eager Paddle 3.3, which accepts a wrong shape silently",
)
def accepts_any_result() -> Replacements:
    yield callbacks, "check", lambda hook, result, gradient, kind: None, WHEN_RAISED


@mutant("A body gets an array, not a tensor.", "PaddlePaddle/community#491 (py_func)")
def passes_arrays() -> Replacements:
    def wrap(hook: Callable[..., Any]) -> Callable[..., Any]:
        def with_array(gradient: Any) -> Any:
            if isinstance(gradient, Value):
                return hook(gradient)
            result = hook(gradient.numpy())
            return None if result is None else paddle.to_tensor(result)

        return with_array

    return each_hook(wrap, lambda placed: not placed.decision.traced)
