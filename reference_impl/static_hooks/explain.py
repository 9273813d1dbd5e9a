"""Say of every hook of a function how it runs, and why."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import paddle

from . import bodies, boundaries, firing, patches, registration, sot_fallback
from .surfaces import Value

_ROW = "{hook:<24} {runs:<9} {tensor:<28} {where}\n{indent}{reason}"


@dataclass(frozen=True)
class Row:
    """How one hook runs.

    Attributes:
        hook: its name. where: the user's file and line that registered it. tensor: what it is
        registered on, with the shape (-1 where dynamic) and dtype of its gradient. runs: "traced"
        (operations of the graph), "callback" (Python at every backward) or "delegated"
            (registered on the caller's tensor at each run).
        reason: why, in words.
        sot: why the default mode, SOT, registered the hook eagerly when it last ran the function,
            with the line; empty where the hook is in the graph, or the function has not run yet.
    """

    hook: str
    where: str
    tensor: str
    runs: str
    reason: str
    sot: str = ""


class Explanation(tuple[Row, ...]):
    """The rows, in the order of registration; prints as a table."""

    def __repr__(self) -> str:
        indent = " " * 4
        rows = [_ROW.format(**vars(row), indent=indent) for row in self]
        notes = [f"\n{indent}in SOT: {row.sot}" if row.sot else "" for row in self]
        return "\n".join(map(operator.add, rows, notes)) or "no hooks"


def explain(target: Callable[..., Any], *inputs: Any) -> Explanation:
    """Trace a function or Layer and explain each hook that it registers.

    Args:
        target: a function, a `paddle.nn.Layer`, or one converted by `paddle.jit.to_static`.
        inputs: arguments to trace it with: tensors of any shape and dtype, or `InputSpec`s.

    Returns:
        One row a hook that is still registered when the function returns.
    """
    function = target.forward if isinstance(target, paddle.nn.Layer) else target
    function = getattr(function, "dygraph_function", function)
    with patches.enabled():
        static = paddle.jit.to_static(function, full_graph=True)
        concrete, layer = static.get_concrete_program(*inputs)
        plan = boundaries.plan_of(layer)
        registry = registration.of(concrete.main_program)
        delegated = {delegation.registration for delegation in plan.delegations}
        if registry is None:
            return Explanation()
        return Explanation(
            _row(entry, registry, entry in delegated, function)
            for entry in registry.entries
            if not entry.removed
        )


def _row(
    entry: registration.Registration,
    registry: registration.Registry,
    is_delegated: bool,
    function: Callable[..., Any],
) -> Row:
    placed = entry.place(registry)
    runs = "traced" if placed.decision.traced else "callback"
    reason = placed.decision.reason
    if is_delegated:
        runs, reason = "delegated", "its tensor is the caller's: registered on it at each run"
    shape = f"{list(entry.target.shape)} {str(entry.target.dtype).removeprefix('paddle.')}"
    tensor = f"{_name(entry)} {shape}"
    sot = _reason_in_sot(entry, function)
    return Row(bodies.name_of(placed.hook), entry.site, tensor, runs, reason, sot)


def _reason_in_sot(entry: registration.Registration, function: Callable[..., Any]) -> str:
    """Look up why SOT ran what registers a hook eagerly; empty where it did not."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    found = [r for r in sot_fallback.REASONS if r.covers(code, entry.file, entry.line)]
    return str(found[-1]) if found else ""


def _name(entry: registration.Registration) -> str:
    if not isinstance(entry.target, Value):
        return f"tensor {entry.target.name}"
    if firing.is_boundary(entry.target):
        return "input or parameter"
    operation = entry.target.get_defining_op()
    name: str = operation.name() if operation is not None else "loop variable"
    return name.removeprefix("pd_op.")
