"""Where a hook fires: in the backward builder, at the gradient that is complete and not yet used.

Paddle's builder walks the forward operations backwards. When it reaches the operation that produced
a hooked value, every consumer of the value has added its share of the gradient, and no producer has
seen it. That point is eager's. There the shares are folded into one value, the hooks run on it in
the order registered, and their result takes its place.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any

import paddle

from . import branches, callbacks, captures, registration
from .errors import UnsupportedHookError
from .ordering import eager_order
from .registration import Registration, Registry
from .renewal import Placed
from .surfaces import (
    Block,
    Operation,
    State,
    Value,
    ValueDict,
    get_split_op,
    ir_backward,
    is_fake_value,
    return_map_value,
    set_insertion_point,
)

# Their results are results of different operations to eager mode.
_CONTROL_FLOW = ("pd_op.if", "pd_op.while")
_local = threading.local()


def _walks() -> list[Walk]:
    walks: list[Walk] = _local.__dict__.setdefault("walks", [])
    return walks


class Walk:
    """One walk of the backward builder over one block."""

    def __init__(self, registry: Registry, arguments: dict[str, Any], outer: Walk | None) -> None:
        self.registry = registry
        self.block: Block = arguments["bwd_block"]
        self.state: State = arguments["state"]
        self.backward_ops: list[Operation] = arguments["backward_ops"]
        self.argument_map = arguments["bwd_value_to_block_argument_map"]
        self.copy_map = arguments["control_flow_value_to_copyvalue_map"]
        self.token: Value | None = outer.token if outer else None
        self.ordered = False
        given = self.state.value_to_valuegrad.items()
        self.outputs = [value for value, shares in given if not _is_zeros(shares[0][0])]
        # A value that the builder reached without a gradient gets zeros: not for hooks.
        self.reached: set[Registration] = set()
        self.hooked = ValueDict(default_factory=list)
        for entry in registry.active():
            value = registry.resolve(entry.target)
            if not (registry.to_static and is_boundary(value)):
                self.hooked[value].append(entry)

    def placed(self, entry: Registration) -> Placed:
        """See how a hook runs; in the middle of tracing (`paddle.grad`) only for this walk."""
        if self.registry.full_backward:
            return entry.place(self.registry)
        entry.find_state(self.registry)
        return entry.look(self.registry)

    def reach(self, op: Operation) -> None:
        """Fire the hooks on the results of `op`; its consumers have all been walked."""
        results = list(_tensors(op))
        if callbacks.is_callback(op) and any(self._has_gradient(value) for value in results):
            raise UnsupportedHookError(
                "a hook that is called back must not be differentiated, but paddle.grad ran it in "
                "the function that is being traced; make its body tensor operations alone"
            )
        here = [(e, value) for value in results for e in self.hooked.get(value, [])]
        self.reached.update(entry for entry, _ in here)
        if op.name() in _CONTROL_FLOW:
            here = [(entry, value) for entry, value in here if self._is_reached(op, value)]
        if here and any(self._is_reached(op, value) for value in results):
            here.sort(key=lambda pair: self.registry.entries.index(pair[0]))
            for entry, value in here:
                self._fill(op, value)
                self._fire(op, entry, value)

    def finish(self) -> None:
        """Fire the hooks on values that the builder does not walk: leaves made in the function."""
        for value, entries in self.hooked.items():
            op = value.get_defining_op()
            for entry in entries:
                if entry not in self.reached and op is not None and self._has_gradient(value):
                    self._fire(op, entry, value)

    def _key(self, value: Value) -> Value:
        return return_map_value(value, self.state.inside_value_to_outside_value_map)

    def _has_gradient(self, value: Value) -> bool:
        shares = self.state.value_to_valuegrad.get(self._key(value), [])
        return any(share[0] is not None and not is_fake_value(share[0]) for share in shares)

    def _is_reached(self, op: Operation, value: Value) -> bool:
        """Tell whether a gradient arrived; the zeros for a variable of an `if` are none."""
        key = self._key(value)
        shares = self.state.value_to_valuegrad.get(key, [])
        is_variable = op.name() in _CONTROL_FLOW or not key.is_same(value)
        filled = is_variable and len(shares) == 1 and _is_zeros(shares[0][0])
        return not filled and self._has_gradient(value)

    def _fill(self, op: Operation, value: Value) -> None:
        """Give a result that nobody used zeros, as eager mode does when a sibling was used."""
        if not self._has_gradient(value):
            like = return_map_value(value, self.copy_map)
            ir_backward.append_full_like(0.0, like, self._key(value), self.state, self.backward_ops)

    def _fire(self, op: Operation, entry: Registration, value: Value) -> None:
        key, before = self._key(value), self._count()
        gradients = self.state.value_to_valuegrad
        if len(gradients[key]) > 1:
            ir_backward.append_add_n(op, key, self.state, self.backward_ops, self.argument_map)
            before = self._count()
        gradient = return_map_value(gradients[key][0][0], self.argument_map)
        placed = self.placed(entry)
        captured = [self._visible(entry, v) for v in placed.values()]
        with paddle.amp.auto_cast(enable=False):
            result = self._trace(placed, gradient, captured) if placed.decision.traced else None
            self._refuse_strangers(entry, self.block.ops[before:])
            if result is None:
                result = self._call_back(entry, placed, gradient, captured)
        gradients[key] = [[result]]
        made = self.block.ops[before:]
        ir_backward.update_bwdop_structure(self.backward_ops, self.state.op_to_opgrad[op], made)

    def _count(self) -> int:
        """Count the block's own operations; `num_ops` counts those inside an `if` as well."""
        return len(self.block.ops)

    def _trace(self, placed: Placed, gradient: Value, captured: list[Value]) -> Value | None:
        """Run the body on the gradient's value, so that it becomes operations; None if it can't."""
        before = self._count()
        try:
            with captures.swapped(placed.slots, captured):
                result = placed.hook(gradient)
            if result is None:
                return gradient
            callbacks.check(placed.hook, result, gradient, Value)
            return result
        except Exception:  # the body is at fault: called back, it says so when backward runs
            for op in reversed(self.block.ops[before:]):
                self.block.remove_op(op)
            return None

    def _refuse_strangers(self, entry: Registration, made: list[Operation]) -> None:
        """Refuse a body that reached a value of another program in a way nobody looked for."""
        for op in made:
            for value in op.operands_source():
                home = value.get_defining_op()
                if home is not None and home.get_parent_block().program != self.block.program:
                    raise UnsupportedHookError(
                        f"hook registered at {entry.site}: a forward value must be reached through "
                        "a variable, attribute or container of the hook, but got one in another "
                        "way; assign it to a local variable that the hook uses"
                    )

    def _call_back(
        self, entry: Registration, placed: Placed, gradient: Value, captured: list[Value]
    ) -> Value:
        callback = callbacks.Callback(self.registry, entry, placed)
        if self.token is None:
            self.token = paddle.full([], 0, "int64")
        self.token, result = callbacks.emit(callback, self.token, gradient, captured)
        self.registry.tokens.append(self.token)
        result.stop_gradient = gradient.stop_gradient
        return result

    def _visible(self, entry: Registration, captured: Value) -> Value:
        """Return a captured forward value as the block that is being built can see it."""
        value = return_map_value(self.registry.resolve(captured), self.copy_map)
        branches.check_visible(value, self.block, entry.site)
        return self._kept(value) if self.block.parent_block else value

    def _kept(self, value: Value) -> Value:
        """Read a forward value outside of the branch too: Paddle frees what no operation reads."""
        home = value.get_defining_op()
        if home is None or home.get_parent_block().parent_block is not None:
            return value
        branching = self.block.parent_op
        while branching.get_parent_block().parent_block is not None:
            branching = branching.get_parent_block().parent_op
        with branching.get_parent_block():
            set_insertion_point(branching)
            return paddle.assign(value)


def is_boundary(value: Value) -> bool:
    """Tell whether a value of a traced function is an input or a parameter: an eager tensor."""
    op = value.get_defining_op()
    return op is not None and op.name() in ("pd_op.data", "builtin.parameter")


def _is_zeros(gradient: Value | None) -> bool:
    """Tell whether a gradient is what the builder gives the siblings of a differentiated result."""
    op = gradient.get_defining_op() if gradient is not None else None
    if op is None or op.name() != "pd_op.full_like":
        return False
    constant = op.operand_source(1).get_defining_op()
    return constant is not None and constant.attrs().get("value") == 0.0


def _tensors(op: Operation) -> Iterator[Value]:
    for result in op.results():
        split = None if result.use_empty() else get_split_op(result)
        if split is None:
            yield result
        else:
            yield from split.results()


def around_append_backward_ops(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap the builder so that a walk over a program with hooks knows of them."""
    signature = inspect.signature(original)

    def append_backward_ops(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        registry = registration.of(bound.arguments["fwd_block"].program)
        if registry is None or not registry.active():
            return original(*args, **kwargs)
        walks = _walks()
        same = walks and walks[-1].registry is registry
        walk = Walk(registry, bound.arguments, walks[-1] if same else None)
        walks.append(walk)
        try:
            original(*args, **kwargs)
            if registry.full_backward and walk.block.parent_block is None:
                with walk.block:
                    walk.finish()
        finally:
            walks.pop()
        return None

    return append_backward_ops


def around_op_has_vjp(original: Callable[[Operation], bool]) -> Callable[[Operation], bool]:
    """Wrap the first thing that the builder asks of every forward operation that it reaches."""

    def op_has_vjp(op: Operation) -> bool:
        if _walks():
            _walks()[-1].reach(op)
        return original(op)

    return op_has_vjp


def around_inverse_sort_op(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the builder's choice of an order: with effects in the program, it is eager's."""

    def inverse_sort_op(operations: Any) -> Any:
        walks = _walks()
        if walks and not walks[-1].ordered:
            walks[-1].ordered = True
            entries = walks[-1].registry.active()
            if not all(walks[-1].placed(entry).decision.traced for entry in entries):
                return eager_order(list(operations), walks[-1].outputs)
        return original(operations)

    return inverse_sort_op


def around_prune_ops(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the pruning around a walk: hooked values are wanted before it, callbacks after it."""

    def prune_ops(total_ops: Any, inputs_set: Any, outputs_set: Any, no_grad_set: Any) -> Any:
        registry = registration.of(total_ops[0].get_parent_block().program) if total_ops else None
        if registry is not None:
            if registry.full_backward and inputs_set:
                for entry in registry.active():
                    home = registry.resolve(entry.target).get_defining_op()
                    # All results: Paddle's pruning stops at an operation with a wanted result.
                    inputs_set.update(home.results() if home is not None else ())
            outputs_set.update(registry.tokens)
            registry.tokens.clear()  # of this walk alone: the next is not after its callbacks
        return original(total_ops, inputs_set, outputs_set, no_grad_set)

    return prune_ops
