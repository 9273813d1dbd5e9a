"""Wrong designs of the border: inputs, parameters, handles, what is left behind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import paddle

from .. import boundaries, firing, patches, registration
from ..surfaces import Value, ValueDict
from .registry import NEVER, Replacements, mutant, when, when_result


@mutant("Hooks on inputs and parameters fire inside the graph, and miss the uses outside.")
def inputs_inside() -> Replacements:
    yield boundaries, "_pickers", lambda layer: ValueDict(), NEVER
    yield firing, "is_boundary", lambda value: False, when_result(bool)


@mutant("A hook on an input or parameter is registered at the first run only.")
def registers_once() -> Replacements:
    plan_of = boundaries.plan_of

    def first_time(layer: Any) -> Any:
        plan = plan_of(layer)
        if layer.__dict__.get("_ran"):
            return replace(plan, delegations=[])
        return plan

    run = boundaries.run

    def running(layer: Any, *arguments: Any) -> Any:
        try:
            return run(layer, *arguments)
        finally:
            layer.__dict__["_ran"] = True

    yield boundaries, "plan_of", first_time, when_result(lambda plan: plan.delegations)
    yield boundaries, "run", running, NEVER


@mutant("Each run leaves a hook on the parameters, so that they pile up: twice, four times, eight.")
def piles_up_on_parameters() -> Replacements:
    run = boundaries.run

    def running(layer: Any, execute: Any, inputs: Any, parameters: Any, arguments: Any) -> Any:
        for parameter in parameters:
            if not parameter.stop_gradient:
                parameter.register_hook(lambda gradient: 2 * gradient)
        return run(layer, execute, inputs, parameters, arguments)

    def differs(layer: Any, execute: Any, inputs: Any, parameters: Any, arguments: Any) -> bool:
        return any(not parameter.stop_gradient for parameter in parameters)

    yield boundaries, "run", running, when(differs)


@mutant("A handle removes nothing.", "PaddlePaddle/Paddle#52948, which left remove() for later")
def never_removes() -> Replacements:
    def remove(self: Any) -> bool:
        return True

    yield registration.HookHandle, "remove", paddle.jit.marker.unified(remove)


@mutant("A handle removes its hook from every later run as well.")
def removes_for_good() -> Replacements:
    remove = registration.HookHandle.remove

    def for_good(self: Any) -> bool:
        removed = bool(remove(self))
        self._registration.removed = True
        return removed

    yield registration.HookHandle, "remove", paddle.jit.marker.unified(for_good)


@mutant("A handle is of the package's own type, and remove() always says True.")
def own_handle_type() -> Replacements:
    class Handle:
        def __init__(self, handle: Any) -> None:
            self._handle, self._registration = handle, handle._registration

        @paddle.jit.marker.unified
        def remove(self) -> bool:
            self._handle._registration.removed = True
            return True

    register_hook = registration.register_hook

    def with_own_type(self: Value, hook: Any) -> Any:
        return Handle(register_hook(self, hook))

    yield registration, "register_hook", paddle.jit.marker.unified(with_own_type)


@mutant(
    "Registering leaves an operation in the program, also in the one that is saved.",
    "pytorch/pytorch#172126 (an identity function after the definition), later replaced",
)
def marks_the_program() -> Replacements:
    record = registration.record

    def marking(program: Any, target: Any, hook: Any) -> Any:
        if isinstance(target, Value):
            paddle.assign(target)
        return record(program, target, hook)

    yield registration, "record", marking


@mutant(
    "A program that is made of the traced one has an identity operation after each hooked tensor.",
    "pytorch/pytorch#172126 (an identity function after the definition), later replaced",
)
def keeps_the_identity() -> Replacements:
    carry_over = registration.carry_over

    def marking(traced: Any, clone: Any) -> None:
        carry_over(traced, clone)
        registry = registration.of(clone)
        if registry is not None and registry.mapping is not None:
            for entry in registry.active():
                _put_identity_after(clone, registry.mapping[entry.target])

    def differs(traced: Any, clone: Any) -> bool:
        return registration.of(traced) is not None

    yield registration, "carry_over", marking, when(differs)


def _put_identity_after(program: Any, value: Value) -> None:
    with paddle.static.program_guard(program):
        paddle.pir.set_insertion_point_after(value.get_defining_op())
        uses = list(value.all_used_ops())
        identity = paddle.assign(value)
    for op in uses:
        for index in range(op.num_operands()):
            if op.operand_source(index).is_same(value):
                op.operand(index).set_source(identity)


@mutant("A list of all hooks ever registered keeps them alive.")
def keeps_everything() -> Replacements:
    record = registration.record
    ever: list[Any] = []

    def keeping(program: Any, target: Any, hook: Any) -> Any:
        ever.append((program, hook))
        return record(program, target, hook)

    yield registration, "record", keeping


@mutant("disable() forgets one of the attributes that it replaced.")
def forgets_to_restore() -> Replacements:
    disable = patches.disable

    def forgetful() -> None:
        if patches.replaced:
            patches.replaced.pop(0)
        disable()

    yield patches, "disable", forgetful


@mutant("A clone of a program has no hooks.")
def loses_clones() -> Replacements:
    carry_over = registration.carry_over

    def only_for_training(traced: Any, clone: Any) -> None:
        carry_over(traced, clone)
        if _is_not_for_training(traced, clone):
            registration.of(clone).entries.clear()  # type: ignore[union-attr]

    yield registration, "carry_over", only_for_training, when(_is_not_for_training)


def _is_not_for_training(traced: Any, clone: Any) -> bool:
    registry = registration.of(traced)
    return registry is not None and not registry.to_static
