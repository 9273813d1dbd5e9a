"""Hooks of a simulated frame, as SOT's statements and variables.

`register_hook` is one more of the statements that SOT records. When the statements are traced, it
registers a hook on the traced value, and the rest of the package does its work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import sot_fallback
from .registration import HookHandle
from .sot_rebuild import is_defined
from .sot_surfaces import (
    CallableVariable,
    ConstantVariable,
    DummyTracker,
    Statement,
    TensorVariable,
    VariableBase,
)

# What a statement returns that returns None.
_NOTHING: Any = [None]


class HookStatement(Statement):
    """`register_hook`, as recorded.

    Attributes:
        target, hook: variables of the simulation.
        register: registers on a traced value what the hook was settled to be.
    """

    def __init__(self, graph: Any, target: TensorVariable, hook: VariableBase) -> None:
        inputs: Any = ([target.get_symbol()], {})
        contexts = list(graph.sir_builder._current_statement_ctxs)
        super().__init__("api", "register_hook", inputs, _NOTHING, contexts, [])
        self.target, self.hook = target, hook
        self.file, self.line = sot_fallback.site()
        self.register: Callable[[Any], Any]

    @property
    def is_eager(self) -> bool:
        """Tell whether the tensor comes from outside the frame."""
        return self.target.tracker.is_traceable()

    def api(self, value: Any) -> None:
        """Register the hook on a traced value."""
        if value.stop_gradient:  # made under `no_grad`, which the simulation does not see
            sot_fallback.fall_back("its tensor stops gradients", self.file, self.line)
        entry = self.register(value)._registration
        entry.file, entry.line = self.file, self.line


class RemoveStatement(Statement):
    """`handle.remove()`, as recorded; gone before anything is traced."""

    def __init__(self, removed: HookStatement) -> None:
        super().__init__("api", "remove", _NOTHING, _NOTHING, [], [])
        self.removed = removed


class FillStatement(Statement):
    """The last statement: gives traced hooks the frame's values, which are all known by then."""

    def __init__(self, tensors: Sequence[TensorVariable], fill: Callable[..., None]) -> None:
        inputs: Any = ([tensor.get_symbol() for tensor in tensors], {})
        super().__init__("api", "fill_hooks", inputs, _NOTHING, [], [])
        self.api = fill


class HandleVariable(VariableBase):
    """What `register_hook` returns in a simulated frame."""

    def __init__(self, graph: Any, statement: HookStatement) -> None:
        super().__init__(graph, DummyTracker([]))
        self.statement = statement
        self._stand_in = HookHandle.__new__(HookHandle)

    def get_py_type(self) -> type:
        """Return the type that the frame sees."""
        return HookHandle

    def get_py_value(self, allow_tensor: bool = False) -> Any:
        """Return an object that stands for the handle where its type or identity matters."""
        return self._stand_in

    def getattr(self, name: str, default: Any = None) -> Any:
        """Simulate the look-up of an attribute."""
        if name == "remove":
            return RemoveVariable(self.graph, self.statement)
        return super().getattr(name, default)

    def _reconstruct(self, codegen: Any) -> None:
        at = self.statement.file, self.statement.line
        sot_fallback.fall_back("its handle leaves the function in a way that is not known", *at)


class RemoveVariable(CallableVariable):
    """The method `remove` of a handle."""

    def __init__(self, graph: Any, statement: HookStatement) -> None:
        super().__init__(graph, DummyTracker([]))
        self.statement = statement

    def call_function(self) -> VariableBase:
        """Simulate the call."""
        statements = self.graph.sir_builder.current_sir.statements
        is_registered = self.statement not in removed_in(statements)
        statements.append(RemoveStatement(self.statement))
        return ConstantVariable.wrap_literal(is_registered, self.graph)


def removed_in(statements: Sequence[Statement]) -> set[HookStatement]:
    """Find the hooks whose handle was told to remove them."""
    return {s.removed for s in statements if isinstance(s, RemoveStatement)}


def record(graph: Any, target: TensorVariable, hook: VariableBase) -> HandleVariable:
    """Record one `register_hook` of a simulated frame."""
    sot_fallback.check_target(graph, target)
    statement = HookStatement(graph, target, hook)
    graph.sir_builder.current_sir.add_statement(statement)
    return HandleVariable(graph, statement)


def mark(marker: Callable[[Any], Any], hook: VariableBase) -> VariableBase:
    """Simulate `@traced` and `@callback`: a mark that the function itself carries."""
    if is_defined(hook):
        marker(hook.value)
    elif hook.tracker.is_traceable():
        marker(hook.get_py_value())
    else:
        sot_fallback.fall_back("it marks a hook that is not a function", *sot_fallback.site())
    return hook
