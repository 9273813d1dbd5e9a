"""What each run of a frame that SOT has replaced does for its hooks.

A hook that is called back is made anew by each run, as it would be in eager mode, so it sees the lists,
counters and attributes of its own run. The graph is one for all runs: in it stands a `RunHook`, which
calls the hook of the run whose backward is being executed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import paddle

from . import bodies, callbacks
from .errors import HookTypeError
from .registration import HookHandle, Placed, Registration
from .sot_rebuild import Loaded, Maker


@dataclass(frozen=True)
class Recipe:
    """One hook that each run makes.

    Attributes:
        node: how it is made.
        name, file, line: the hook's name, and where the user registered it.
        tensor: the load of the eager tensor that it is registered on; None for one in the graph.
    """

    node: Any
    name: str
    file: str
    line: int
    tensor: Loaded | None


class Armed:
    """The hooks of one run."""

    def __init__(self, recipes: Sequence[Recipe]) -> None:
        self.entries = [Registration(None, None, recipe.file, recipe.line) for recipe in recipes]


class Arming:
    """What the replaced frame calls after its graph has run: makes the hooks of the run.

    Args:
        recipes: the hooks.
        exports: recipes of what the frame goes on with: handles, and functions that are hooks.
    """

    def __init__(self, recipes: Sequence[Recipe], exports: Sequence[Any]) -> None:
        self.recipes, self.exports = recipes, exports
        self._current: weakref.ref[Armed] | None = None

    def __call__(self, loaded: tuple[Any, ...], outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Make the hooks.

        Args:
            loaded: what the recipes need.
            outputs: what the graph returned.

        Returns:
            What the exports made.
        """
        armed = Armed(self.recipes)
        maker = Maker(dict(enumerate(loaded)), lambda index: HookHandle(armed.entries[index]))
        for entry, recipe in zip(armed.entries, self.recipes, strict=True):
            entry.raw = maker.make(recipe.node)
        exported = tuple(map(maker.make, self.exports))
        maker.finish()
        for entry, recipe in zip(armed.entries, self.recipes, strict=True):
            _check(entry)
            if recipe.tensor is not None:
                entry.eager_handle = maker.make(recipe.tensor).register_hook(_Delegated(entry))
        self._announce(armed, outputs)
        return exported

    def hook_of_run(self, index: int) -> Callable[..., Any] | None:
        """Return a hook of the run whose backward is being executed, None if it was removed."""
        armed = self._current() if self._current is not None else None
        if armed is None or armed.entries[index].removed:
            return None
        return armed.entries[index].raw

    def _announce(self, armed: Armed, outputs: Sequence[Any]) -> None:
        """Let the backward of a run know its run: a hook on its outputs lives as long as its graph."""
        if all(recipe.tensor is not None for recipe in self.recipes):
            return

        def announce(gradient: paddle.Tensor) -> None:
            self._current = weakref.ref(armed)

        for tensor in outputs:
            if not tensor.stop_gradient:
                tensor.register_hook(announce)


def _check(entry: Registration) -> None:
    if not callable(entry.raw):
        raise HookTypeError(
            f"register_hook at {entry.site}: hook must be callable, "
            f"but got {type(entry.raw).__name__}; pass a function of one gradient"
        )
    bodies.check_forced(entry.raw)


class RunHook:
    """Stands in the graph for a hook that each run makes anew."""

    def __init__(self, arming: Arming, index: int) -> None:
        self._arming, self._index = arming, index
        self.__name__ = self.__qualname__ = arming.recipes[index].name
        bodies.callback(self)

    def __call__(self, gradient: paddle.Tensor) -> Any:
        hook = self._arming.hook_of_run(self._index)
        return None if hook is None else hook(gradient)


class _Delegated:
    """A hook on an eager tensor that the frame got from outside."""

    def __init__(self, entry: Registration) -> None:
        self._entry = entry
        self._placed = Placed(entry.raw, bodies.Decision(False, "its tensor is the caller's"), [])
        self.__name__ = bodies.name_of(entry.raw)

    def __call__(self, gradient: paddle.Tensor) -> paddle.Tensor:
        try:
            return callbacks.call(self._entry, self._placed, None, gradient, ())
        except BaseException as error:
            callbacks.abort(error)
