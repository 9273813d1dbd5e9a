"""Hooks on inputs and parameters: the eager tensors that cross the border of a static graph.

An input is the caller's tensor and a parameter is an eager leaf. Its gradient also comes from uses
outside the static graph, so no operation inside can see the whole of it. Eager mode would register
one hook on that tensor at each call of the function; so that is what each run does. The values that
such a hook captures become extra outputs of the run, which the caller never sees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import paddle

from . import branches, callbacks, captures, registration
from .assigning import Assignment, check_handle
from .errors import UnsupportedHookError
from .flow import Flow, Run
from .registration import Registration, Registry
from .renewal import Placed, rejoin
from .surfaces import (
    FAKE_VALUE_NAME,
    PartialProgramLayer,
    RunnableProgram,
    Value,
    ValueDict,
    ValueSet,
    append_shadow_outputs,
)

_PLAN = "_static_hooks_plan"


@dataclass(frozen=True)
class Delegation:
    """One hook that is registered on an eager tensor at each run.

    Attributes:
        registration: what was registered, and where.
        placed: the hook, and what it captures.
        tensor: picks the tensor from the run's inputs and parameters.
        outputs: which of the run's extra outputs the body captures.
        partial: the results of the function that lead to the tensor, as bits, if not all do.
    """

    registration: Registration
    placed: Placed
    tensor: Callable[[Sequence[Any], Sequence[Any]], paddle.Tensor]
    outputs: range
    partial: int | None

    def is_reached(self, this: Run, gradient: paddle.Tensor) -> bool:
        """Tell whether a gradient is one, and not the zeros of a static graph.

        With no result that leads to the tensor, what is not zero comes from outside of the graph.
        """
        if self.partial is None or this.live & self.partial or gradient.is_selected_rows():
            return True
        return bool((gradient != 0).any())


@dataclass(frozen=True)
class Plan:
    """What each run of one traced function does at its border.

    Attributes:
        delegations: hooks to register on eager tensors.
        captured: values that these hooks capture, as extra outputs.
        per_run: hooks inside the program that depend on the run: their handle outlived tracing,
            they reach a list or dict that the caller passed in, not all results lead to them, or
            they have state that each run makes anew.
        assignments: what each run assigns anew for the hooks.
    """

    delegations: list[Delegation]
    captured: list[Value]
    per_run: list[Registration]
    assignments: list[Assignment]

    @property
    def depends_on_results(self) -> bool:
        """Whether a hook has to know the run, or which of its results got a gradient."""
        partial = (delegation.partial for delegation in self.delegations)
        return bool(self.per_run) or any(bits is not None for bits in partial)

    @property
    def is_needed(self) -> bool:
        """Whether a run has anything to do."""
        return bool(self.delegations or self.per_run or self.assignments)


def plan_of(layer: PartialProgramLayer) -> Plan:
    """Return the plan of a traced function; settled at its first run."""
    plan: Plan | None = layer.__dict__.get(_PLAN)
    if plan is None:
        plan = layer.__dict__[_PLAN] = _make_plan(layer)
    return plan


def _make_plan(layer: PartialProgramLayer) -> Plan:
    registry = registration.of(layer._origin_main_program)
    plan = Plan([], [], [], [])
    if registry is None:
        return plan
    pickers, inputs = _pickers(layer), ValueSet(layer._inputs.var_list)
    block = layer._origin_main_program.global_block()
    flow = Flow(block, layer._outputs.var_list)
    registry.entries = [entry for entry in registry.entries if not entry.removed]
    rejoin([entry.origin for entry in registry.entries if entry.origin is not None])
    for entry in registry.entries:
        entry.find_state(registry)
    for entry in registry.entries:
        if isinstance(entry.target, Value) and entry.target not in pickers:
            _check_whole(entry, registry, flow, pickers)
            entry.partial = flow.partial(entry.target)
        placed = entry.place(registry)
        plan.assignments.extend(placed.assignments)
        if not isinstance(entry.target, Value):
            pick = _always(entry.target)
        elif entry.target in pickers:
            pick = pickers[entry.target]
        else:
            uses_run = placed.state or any(slot.argument is not None for slot in placed.slots)
            if uses_run or entry.kept_handle() or entry.partial is not None:
                plan.per_run.append(entry)
            continue
        if not (isinstance(entry.target, Value) and entry.target in inputs):
            check_handle(entry.kept_handle(), entry.assigned, entry.site)
        found = placed.values()
        for value in found:
            branches.check_visible(value, block, entry.site)
        outputs = range(len(plan.captured), len(plan.captured) + len(found))
        plan.captured.extend(found)
        partial = flow.partial(entry.target) if isinstance(entry.target, Value) else None
        plan.delegations.append(Delegation(entry, placed, pick, outputs, partial))
    return plan


def _check_whole(entry: Registration, registry: Registry, flow: Flow, boundary: ValueDict) -> None:
    """Refuse a hook on what an `if` returns, if that may be a tensor that is used elsewhere too.

    In eager mode such a result is that tensor, and the hook sees all its uses.
    """
    for value, branching in branches.handed_through(entry.target):
        is_hooked = any(value.is_same(other.target) for other in registry.active())
        if value in boundary or is_hooked or flow.is_used(value, branching):
            raise UnsupportedHookError(
                f"hook registered at {entry.site}: what an `if` on a tensor returns must be a "
                "tensor of its own, but got one from before it that is used elsewhere as well; "
                "copy it with `.clone()` in the branch"
            )


def _pickers(layer: PartialProgramLayer) -> ValueDict:
    pickers = ValueDict()
    for index, value in enumerate(layer._param_values):
        pickers[value] = lambda inputs, parameters, index=index: parameters[index]
    for index, value in enumerate(layer._inputs.var_list):
        pickers[value] = lambda inputs, parameters, index=index: inputs[index]
    return pickers


def _always(tensor: paddle.Tensor) -> Callable[[Any, Any], paddle.Tensor]:
    return lambda inputs, parameters: tensor


def with_extra_outputs(layer: PartialProgramLayer, runnable: RunnableProgram) -> RunnableProgram:
    """Add what delegated hooks capture to the outputs of a training program."""
    captured = plan_of(layer).captured
    registry = registration.of(runnable.program)
    if not captured or registry is None:
        return runnable
    block = runnable.program.global_block()
    with paddle.static.program_guard(runnable.program):
        extra: list[Any] = [paddle.assign(registry.resolve(value)) for value in captured]
    for value in extra:
        value.stop_gradient = True
    append_shadow_outputs(runnable.program, extra, len(block.ops), "static_hooks_capture_")
    return RunnableProgram(
        runnable.program,
        (runnable.x_names, runnable.param_names, [*runnable.out_names, *(v.name for v in extra)]),
        [*runnable.out_stop_gradients, *(True for _ in extra)],
    )


def run(
    layer: PartialProgramLayer,
    execute: Callable[[Sequence[paddle.Tensor], Sequence[paddle.Tensor]], list[Any]],
    inputs: Sequence[paddle.Tensor],
    parameters: Sequence[paddle.Tensor],
    arguments: Any,
) -> list[Any]:
    """Run a traced function, and do what its hooks need at the border.

    Args:
        layer: the traced function.
        execute: runs it on inputs and parameters, and returns the program's outputs.
        inputs: the eager tensors that were passed to this run.
        parameters: the eager parameters that the program uses.
        arguments: the nest of arguments that the caller passed.
    """
    plan = plan_of(layer)
    if not plan.is_needed:
        return execute(inputs, parameters)
    this = Run(captures.containers_in(arguments))
    registry = registration.of(layer._origin_main_program)
    assert registry is not None, "a function with hooks has a registry"
    registry.run = this  # for the hooks that a `paddle.grad` inside the function calls
    for assignment in plan.assignments:
        assignment.repeat()
    late = _delegate(plan, this, inputs, parameters)
    if plan.delegations and layer.training:
        inputs = _reached(inputs, layer.program.x_grad_names)
        parameters = _reached(parameters, layer.program.p_grad_names)
    results = execute(inputs, parameters)
    if layer.training and plan.captured:
        # Detached: a hook that held the graph would keep it, and itself, alive for ever.
        late.tensors = [tensor.detach() for tensor in results[len(results) - len(plan.captured) :]]
        results = results[: len(results) - len(plan.captured)]
    if plan.depends_on_results:
        _announce(this, layer, plan, results)
    return results


def _reached(tensors: Sequence[paddle.Tensor], gradients: Sequence[str]) -> list[paddle.Tensor]:
    """Detach what no gradient reaches: Paddle would give it zeros, and call its hooks."""
    pairs = zip(tensors, gradients, strict=True)
    return [tensor.detach() if name == FAKE_VALUE_NAME else tensor for tensor, name in pairs]


class _Captured:
    """The extra outputs of one run: filled when the run is over, read when backward runs."""

    tensors: Sequence[paddle.Tensor] = ()


def _delegate(
    plan: Plan, this: Run, inputs: Sequence[paddle.Tensor], parameters: Sequence[paddle.Tensor]
) -> _Captured:
    """Register the hooks on inputs and parameters; return the place for what they capture."""
    late = _Captured()
    for delegation in plan.delegations:
        tensor = delegation.tensor(inputs, parameters)
        eager = tensor.register_hook(_hook(delegation, this, late))
        handle = delegation.registration.kept_handle()
        if handle is not None:
            handle.follow(eager)
    return late


def _hook(delegation: Delegation, this: Run, late: _Captured) -> Callable[..., paddle.Tensor]:
    entry, placed = delegation.registration, delegation.placed

    def hook(gradient: paddle.Tensor) -> paddle.Tensor:
        if gradient is None or not delegation.is_reached(this, gradient):
            return gradient
        try:
            if delegation.outputs and not late.tensors:
                raise _without_values(entry)
            captured = [late.tensors[index] for index in delegation.outputs]
            return callbacks.call(entry, placed, this, gradient, captured)
        except BaseException as error:
            callbacks.abort(error)

    return hook


def _without_values(entry: Registration) -> UnsupportedHookError:
    return UnsupportedHookError(
        f"hook registered at {entry.site}: a run that registers it on an input or parameter must "
        "be in training mode, since it uses values of the run, but got one in eval mode; "
        "register it only `if self.training`"
    )


def _announce(this: Run, layer: PartialProgramLayer, plan: Plan, results: Sequence[Any]) -> None:
    """Let the backward of a run know its run: a hook on its outputs lives as long as its graph."""
    registry = registration.of(layer.program.program)
    assert registry is not None, "a program with hooks has a registry"

    def announcing(bit: int) -> Callable[[paddle.Tensor | None], None]:
        def announce(gradient: paddle.Tensor | None) -> None:
            registry.run = this
            this.live |= 0 if gradient is None else bit

        return announce

    for entry in plan.per_run:
        entry.latest_run = this
    for index, tensor in enumerate(results):
        if isinstance(tensor, paddle.Tensor) and not tensor.stop_gradient:
            tensor.register_hook(announcing(1 << index))
