"""Registering is lazy: `Value.register_hook` writes down what was asked for, and inserts nothing.

The registry lives on the PIR program that the value belongs to, and dies with it. Paddle clones the
traced program before it builds the backward; `carry_over` moves the registry to the clone.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import paddle

from . import assigning, bodies, branches, captures, source
from .assigning import Assigned
from .errors import HookTypeError, UnsupportedHookError
from .flow import Run
from .following import Followed, follow
from .renewal import Placed, State, made_by_trace, state_of
from .surfaces import TensorHookRemoveHelper, Value, ValueDict, in_to_static_mode
from .values import every_value, same_tensor

_ATTRIBUTE = "_static_hooks_registry"
_CONTAINERS = "_static_hooks_containers"
REFUSED = "Cannot register hook on a tensor that stop gradient."  # eager's words
_GONE = "The backward hook {hook!r} registered at {site} does not exist or has been removed."


@dataclass(eq=False)
class Registration:
    """One call of `register_hook` in a traced function.

    Attributes:
        target: the hooked value; an eager tensor, if the function reached one from outside.
        raw: the hook as it was passed.
        file, line: where `register_hook` was called, in the user's source.
        partial: the results of the function that lead to the target, as bits, if not all do.
        state: what each run makes anew of the hook.
        assigned: what the functions assign in which it was registered.
    """

    target: Any
    raw: Callable[..., Any]
    file: str
    line: int
    handle: weakref.ref[HookHandle] | None = None
    removed: bool = False
    origin: source.Origin | None = None
    latest_run: Run | None = None
    placed: Placed | None = None
    partial: int | None = None
    state: State | None = None
    assigned: Assigned = field(default_factory=Assigned)
    # What a hook captures inside a branch is gone from its variables when the branch is traced.
    in_branch: list[Followed] = field(default_factory=list)
    conditions: list[branches.Condition] = field(default_factory=list)

    @property
    def site(self) -> str:
        """Where the hook was registered, as `file:line`."""
        return f"{self.file}:{self.line}"

    def place(self, registry: Registry) -> Placed:
        """Settle, when tracing is over, what the hook reaches and how its body runs."""
        if self.placed is None:
            self.placed = self.look(registry)
        return self.placed

    def look(self, registry: Registry) -> Placed:
        """See what `place` would settle now; in the middle of tracing it may still change."""
        hook = source.restore(self.raw, self.origin)
        owner = self.origin.original if self.origin else None
        for followed in self.in_branch:
            followed.finish(is_outside=bool(self.conditions))
        in_branch = [followed.slot for followed in self.in_branch]
        with captures.swapped(in_branch, captures.values(in_branch)):
            for name in captures.undefined_names(hook):
                raise UnsupportedHookError(
                    f"hook registered at {self.site}: {name!r} must be assigned in the branch "
                    "before the hook is registered, but got nothing yet; register the hook after it"
                )
            decision = bodies.decide(hook, owner)
            slots = captures.find(hook, registry.containers)
        if decision.traced and self.kept_handle() is not None:
            decision = bodies.Decision(False, "its handle is kept, so it may be removed later")
        if decision.traced and self.conditions:
            decision = bodies.Decision(False, "it is registered in a branch, which may not run")
        if decision.traced and self.partial is not None:
            decision = bodies.Decision(False, "not all results of the function lead to its tensor")
        if decision.traced and -1 in self.target.shape and bodies.may_reshape(hook):
            reason = "its gradient's shape is dynamic, and what it returns may have another"
            decision = bodies.Decision(False, reason)
        placed = Placed(hook, decision, slots, self.conditions, registry.containers)
        if decision.traced:
            return placed
        assignments = [*assigning.assignments(hook, self.assigned, self.site)]
        return replace(placed, state=self.state, assignments=assignments)

    def find_state(self, registry: Registry) -> None:
        """See what each run makes anew; before `place`, which refers to what the hook holds."""
        made = made_by_trace(self, registry.entries)
        hook = source.restore(self.raw, self.origin)
        self.state = state_of(hook, self.origin, made, self.site)

    def kept_handle(self) -> HookHandle | None:
        """Return the handle, if someone still holds it."""
        return self.handle() if self.handle is not None else None

    def is_removed_in(self, run: Run | None) -> bool:
        """Tell whether the hook is off for a run."""
        return self.removed or (run is not None and self in run.removed)

    def is_reached_in(self, run: Run | None) -> bool:
        """Tell whether a gradient came back to the tensor of a run, and not Paddle's zeros."""
        return run is None or self.partial is None or bool(run.live & self.partial)


class HookHandle(TensorHookRemoveHelper):
    """What `register_hook` returns in a traced function; of the type that eager mode returns.

    A handle that outlives tracing acts on the latest run of the traced function, as the handle of
    that run would in eager mode: the next run registers anew.
    """

    def __init__(self, registration: Registration) -> None:
        self._registration = registration
        # The handle of the latest run, for a hook on an eager tensor. The registration must not
        # hold it: it holds the tensor, which holds the hook, where no garbage collector can look.
        self._eager: TensorHookRemoveHelper | None = None

    def follow(self, eager: TensorHookRemoveHelper) -> None:
        """Act on the eager tensor that the latest run registered the hook on."""
        self._eager = eager

    @paddle.jit.marker.unified
    def remove(self) -> bool:
        """Remove the hook.

        Returns:
            True if it was registered; False, with a RuntimeWarning as in eager mode, if it was not.
        """
        entry = self._registration
        if self._eager is not None:
            return self._eager.remove()
        if entry.is_removed_in(entry.latest_run):
            message = _GONE.format(hook=bodies.name_of(entry.raw), site=entry.site)
            warnings.warn(message, RuntimeWarning, stacklevel=2)
            return False
        if entry.latest_run is None:
            entry.removed = True
        else:
            entry.latest_run.removed.add(entry)
        return True


class Registry:
    """The hooks of one program, in the order in which they were registered.

    Attributes:
        entries: the registrations.
        mapping: for a clone, the values of the traced program to the clone's own.
        to_static: whether `paddle.jit.to_static` traces the program (its inputs and parameters are
            then eager tensors, see `boundaries`).
        full_backward: whether gradients are built for a training step, not for one `paddle.grad`.
        callbacks: what the program's callback operations call; alive as long as the program.
        tokens: the results of its callback operations that order them.
        containers: the copies of the caller's lists and dicts that the traced function saw.
    """

    def __init__(self, to_static: bool) -> None:
        self.entries: list[Registration] = []
        self.mapping: ValueDict | None = None
        self.to_static = to_static
        self.full_backward = not to_static
        self.callbacks: list[Any] = []
        self.tokens: list[Value] = []
        self.containers: Sequence[Any] = ()
        self._run: weakref.ref[Run] | None = None

    @property
    def run(self) -> Run | None:
        """The run whose forward or backward is being executed, where a hook depends on it."""
        return self._run() if self._run is not None else None

    @run.setter
    def run(self, run: Run) -> None:
        self._run = weakref.ref(run)

    def resolve(self, value: Value) -> Value:
        """Return this program's value for one of the program that was traced."""
        return value if self.mapping is None else self.mapping.get(value, value)

    def active(self) -> list[Registration]:
        """List the hooks on values that have not been removed while tracing."""
        return [e for e in self.entries if not e.removed and isinstance(e.target, Value)]


def of(program: paddle.static.Program) -> Registry | None:
    """Return the registry of a program, if a hook was ever registered in it."""
    return program.__dict__.get(_ATTRIBUTE)


def note_arguments(program: paddle.static.Program, arguments: Any) -> None:
    """Remember the containers in the arguments that a traced function is called with."""
    setattr(program, _CONTAINERS, captures.containers_in(arguments))


def program_of(value: Value) -> paddle.static.Program:
    """Return the program that a value belongs to."""
    operation = value.get_defining_op()
    if operation is None:  # an argument of a block
        return paddle.static.default_main_program()
    program: paddle.static.Program = operation.get_parent_block().program
    return program


@paddle.jit.marker.unified
def register_hook(self: Value, hook: Callable[..., Any]) -> HookHandle:
    """Register a backward hook on a value of a static graph.

    Args:
        self: the value, of any shape and floating-point dtype.
        hook: called at every backward with the accumulated gradient of this value, a tensor of its
            shape and dtype; returns None, or a tensor of the same shape and dtype to replace it.

    Returns:
        A handle whose `remove()` undoes the registration.

    Raises:
        RuntimeError: the value stops gradients (the text is eager's).
        HookTypeError: `hook` is not callable.

    Source:
        PaddlePaddle/Paddle python/paddle/base/dygraph/tensor_patch_methods.py `register_hook`,
        3.3.1.
    """
    if self.stop_gradient:
        raise RuntimeError(REFUSED)
    return record(program_of(self), same_tensor(self), hook)


def record(program: paddle.static.Program, target: Any, hook: Callable[..., Any]) -> HookHandle:
    """Write down a registration in the registry of `program`."""
    if not callable(hook):
        raise HookTypeError(
            f"register_hook: hook must be callable, but got {type(hook).__name__}; "
            "pass a function of one gradient"
        )
    registry = of(program)
    if registry is None:
        registry = Registry(to_static=in_to_static_mode())
        registry.containers = program.__dict__.get(_CONTAINERS, ())
        setattr(program, _ATTRIBUTE, registry)
    file, line = source.caller()
    entry = Registration(target, hook, file, line, origin=source.origin_of(hook))
    entry.assigned = assigning.assigned_in_trace()
    handle = HookHandle(entry)
    entry.handle = weakref.ref(handle)
    restored = source.restore(hook, entry.origin)
    bodies.check_forced(restored)
    if branches.is_in_block():
        entry.in_branch = follow(captures.find(restored))
        entry.conditions = branches.conditions_of(target)
    registry.entries.append(entry)
    return handle


def carry_over(traced: paddle.static.Program, clone: paddle.static.Program) -> None:
    """Give `clone` the registry of `traced`; the two programs hold the same operations."""
    registry = of(traced)
    if registry is None:
        return
    copy = Registry(registry.to_static)
    copy.containers = registry.containers
    pairs = zip(every_value(traced), every_value(clone), strict=True)
    copy.mapping = ValueDict()
    for old, new in pairs:
        copy.mapping[old] = new
    if registry.mapping is not None:
        copy.mapping.update({k: copy.mapping[v] for k, v in registry.mapping.items()})
    copy.entries = [entry for entry in registry.entries if not entry.removed]
    setattr(clone, _ATTRIBUTE, copy)
