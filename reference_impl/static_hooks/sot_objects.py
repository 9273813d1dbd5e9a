"""Objects that a simulated frame makes, and that hold tensors."""

from __future__ import annotations

import functools
from typing import Any

from .sot_surfaces import (
    CallableVariable,
    ClassVariable,
    DummyTracker,
    GetAttrTracker,
    UserDefinedFunctionVariable,
    VariableBase,
    VariableFactory,
)


class MadePartialVariable(CallableVariable):
    """A `functools.partial` made in a simulated frame; unlike SOT's own, it may hold tensors."""

    def __init__(self, graph: Any, function: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(graph, DummyTracker([function, *args, *kwargs.values()]))
        self.function, self.args, self.kwargs = function, args, kwargs

    def get_py_type(self) -> type:
        """Return the type that the frame sees."""
        return functools.partial

    def call_function(self, /, *args: Any, **kwargs: Any) -> Any:
        """Simulate the call."""
        return self.function(*self.args, *args, **{**self.kwargs, **kwargs})


def is_plain(kind: type) -> bool:
    """Tell whether an object is no more than its class and its attributes."""
    same = (getattr(kind, name) is getattr(object, name) for name in ("__new__", "__setattr__"))
    return type(kind) is type and all(same)


def make(simulated: ClassVariable, *args: Any, **kwargs: Any) -> VariableBase | None:
    """Simulate the call of a class; return None where SOT's own way is as good.

    SOT passes the arguments, as Python objects, to `object.__new__`, which does not look at them.
    """
    kind = simulated.value
    if kind is functools.partial:
        return MadePartialVariable(simulated.graph, *args, **kwargs)
    if not is_plain(kind) or kind.__init__ is object.__init__:
        return None
    tracker = DummyTracker([simulated, *args, *kwargs.values()])
    made: VariableBase = VariableFactory.from_value(object.__new__(kind), simulated.graph, tracker)
    constructor = GetAttrTracker(simulated, "__init__")
    UserDefinedFunctionVariable(kind.__init__, simulated.graph, constructor)(made, *args, **kwargs)
    return made
