"""Wrong designs of where, when and in which order a hook fires."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle
from paddle.autograd import backward_utils
from paddle.jit.dy2static.transformers import tensorhook_transformer

from .. import branches, firing, ordering, patches, registration
from ..surfaces import Value
from .registry import NEVER, Replacements, mutant, when, when_result


@mutant(
    "The hook sits on an identity operation at the point of registration: earlier uses bypass it.",
    "PaddlePaddle/community#491 and PaddlePaddle/Paddle#48234 (py_func with an identity forward)",
)
def identity_operation() -> Replacements:
    record, fire = registration.record, firing.Walk._fire
    early: dict[Any, int] = {}

    def counting(program: Any, target: Any, hook: Any) -> Any:
        handle = record(program, target, hook)
        uses = len(target.all_used_ops()) if isinstance(target, Value) else 0
        early[handle._registration] = uses
        return handle

    def fire_on_later_uses(self: Any, op: Any, entry: Any, value: Any) -> None:
        gradients, key = self.state.value_to_valuegrad, self._key(value)
        shares = [share for share in gradients[key] if share[0] is not None]
        # The walk goes backwards: the shares of the uses before the registration come last.
        cut = max(len(shares) - early.get(entry, 0), 0)
        if cut:
            gradients[key] = shares[:cut]
            fire(self, op, entry, value)
            gradients[key] = gradients[key] + shares[cut:]

    yield registration, "record", counting, when(_is_late)
    yield firing.Walk, "_fire", fire_on_later_uses, NEVER


def _is_late(program: Any, target: Any, hook: Any) -> bool:
    return isinstance(target, Value) and bool(target.all_used_ops())


def _shares(walk: Any, op: Any, entry: Any, value: Any) -> int:
    return len(walk.state.value_to_valuegrad[walk._key(value)])


@mutant("The hook is called for every use with that use's share of the gradient.")
def fires_per_use() -> Replacements:
    fire = firing.Walk._fire

    def fire_each(self: Any, op: Any, entry: Any, value: Any) -> None:
        gradients, key = self.state.value_to_valuegrad, self._key(value)
        results = []
        for share in [share for share in gradients[key] if share[0] is not None]:
            gradients[key] = [share]
            fire(self, op, entry, value)
            results += gradients[key]
        gradients[key] = results

    yield firing.Walk, "_fire", fire_each, when(lambda *firing: _shares(*firing) > 1)


@mutant("A hook on an output sees only the gradient that comes from outside the function.")
def drops_inner_uses() -> Replacements:
    fire = firing.Walk._fire

    def fire_outer(self: Any, op: Any, entry: Any, value: Any) -> None:
        gradients, key = self.state.value_to_valuegrad, self._key(value)
        inner = gradients[key][1:] if _is_output(value) else []
        gradients[key] = gradients[key][:1] if inner else gradients[key]
        fire(self, op, entry, value)
        gradients[key] = gradients[key] + inner

    yield firing.Walk, "_fire", fire_outer, when(_has_inner_uses)


def _has_inner_uses(walk: Any, op: Any, entry: Any, value: Any) -> bool:
    return _is_output(value) and _shares(walk, op, entry, value) > 1


def _is_output(value: Value) -> bool:
    return any(op.name() == "builtin.shadow_output" for op in value.all_used_ops())


@mutant(
    "Registrations are moved up in the source: a re-bound name hooks the tensor it named before.",
    "PaddlePaddle/Paddle#52948 and #53572, shipped in Paddle 2.5 to 3.3",
)
def moves_registrations() -> Replacements:
    yield patches, "NoReordering", tensorhook_transformer.RegisterHookTransformer


@mutant("A hook that a branch registers on a tensor from outside fires whichever branch runs.")
def forgets_the_branch() -> Replacements:
    yield branches, "conditions_of", lambda target: [], when_result(bool)


@mutant("What an `if` on a tensor returns is hooked as its own, also where it hands it through.")
def overlooks_what_is_handed_through() -> Replacements:
    yield branches, "handed_through", lambda value: iter(()), when()


@mutant("The hook changes the gradient of the producer's operand, so that siblings feel it too.")
def hooks_the_operand() -> Replacements:
    record = registration.record

    def on_operand(program: Any, target: Any, hook: Any) -> Any:
        op = target.get_defining_op() if isinstance(target, Value) else None
        if op is not None and op.num_operands():
            operand = op.operand_source(0)
            if not operand.stop_gradient and not firing.is_boundary(operand):
                target = operand
        return record(program, target, hook)

    yield registration, "record", on_operand


@mutant("Several hooks on a tensor run in the reverse order.")
def reversed_order() -> Replacements:
    reach = firing.Walk.reach

    def backwards(self: Any, op: Any) -> None:
        self.registry.entries.reverse()
        try:
            reach(self, op)
        finally:
            self.registry.entries.reverse()

    yield firing.Walk, "reach", backwards, when(lambda walk, op: len(walk.registry.entries) > 1)


@mutant("Only the first hook of a tensor runs.")
def first_hook_only() -> Replacements:
    yield from _dropping(lambda target, hook, earlier: _same(target, earlier.target))


@mutant("A function that is registered twice on a tensor runs once.")
def merges_duplicates() -> Replacements:
    yield from _dropping(
        lambda target, hook, earlier: _same(target, earlier.target) and hook == earlier.raw
    )


def _same(target: Any, earlier: Any) -> bool:
    values = isinstance(target, Value) and isinstance(earlier, Value)
    return target.is_same(earlier) if values else target is earlier


def _dropping(is_dropped: Callable[[Any, Any, Any], bool]) -> Replacements:
    record = registration.record

    def drops(program: Any, target: Any, hook: Any) -> bool:
        registry = registration.of(program)
        entries = registry.entries if registry else []
        return any(is_dropped(target, hook, earlier) for earlier in entries)

    def dropping(program: Any, target: Any, hook: Any) -> Any:
        is_extra = drops(program, target, hook)
        handle = record(program, target, hook)
        registry = registration.of(program)
        if is_extra and registry:
            registry.entries.pop()
        return handle

    yield registration, "record", dropping, when(drops)


@mutant("A hook may be registered on a tensor that stops gradients, and is never called.")
def accepts_stopped_tensors() -> Replacements:
    def register_hook(self: Value, hook: Any) -> Any:
        return registration.record(registration.program_of(self), self, hook)

    register = paddle.jit.marker.unified(register_hook)
    yield registration, "register_hook", register, when(lambda target, hook: target.stop_gradient)


@mutant("Effects of hooks on different tensors happen in the order of the static builder.")
def builders_order() -> Replacements:
    order = ordering.eager_order

    def builders(operations: Any, outputs: Any = ()) -> Any:
        return backward_utils.inverse_sort_op(operations)

    def differs(operations: Any, outputs: Any = ()) -> bool:
        return list(builders(operations)) != list(order(operations, outputs))

    yield firing, "eager_order", builders, when(differs)


@mutant("paddle.grad inside the function does not run hooks.")
def silent_in_paddle_grad() -> Replacements:
    active = registration.Registry.active

    def only_in_training(self: Any) -> list[Any]:
        return active(self) if self.full_backward else []

    partial = when(lambda registry: not registry.full_backward)
    yield registration.Registry, "active", only_in_training, partial
