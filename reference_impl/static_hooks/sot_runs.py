"""What each run of a frame that SOT has replaced does for its hooks.

A hook that is called back is made anew by each run, as it would be in eager mode, so it sees the
lists, counters and attributes of its own run. The graph is one for all runs: in it stands a
`RunHook`, which calls the hook of the run whose backward is being executed.
"""

from __future__ import annotations

import functools
import operator
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import paddle

from . import bodies, callbacks, sot_marks
from .errors import HookTypeError, UnsupportedHookError
from .registration import HookHandle, Registration
from .renewal import Placed
from .sot_rebuild import Loaded, Maker
from .surfaces import TensorHookRemoveHelper


@dataclass(frozen=True)
class Recipe:
    """One hook that each run makes.

    Attributes:
        node: how it is made.
        name, file, line: the hook's name, and where the user registered it.
        tensor: the load of the eager tensor that it is registered on; None for one in the graph.
        reached: the outputs of the graph that depend on its tensor, as bits.
    """

    node: Any
    name: str
    file: str
    line: int
    tensor: Loaded | None
    reached: int


class Arming:
    """What the replaced frame calls after its graph has run: makes the hooks of the run.

    Args:
        recipes: the hooks that each run makes.
        exports: recipes of what the frame goes on with: handles, and functions that are hooks.
        site: where the first hook of the graph was registered.

    Attributes:
        outputs: for each tensor that the graph returns, its bit, and whether the graph uses it.
    """

    def __init__(self, recipes: Sequence[Recipe], exports: Sequence[Any], site: str) -> None:
        self.recipes, self.exports, self._site = recipes, exports, site
        self.outputs: Sequence[tuple[int, bool]] = ()
        self._current: weakref.ref[Armed] | None = None

    def __call__(self, loaded: tuple[Any, ...], outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Make the hooks.

        Args:
            loaded: what the recipes need.
            outputs: what the graph returned.

        Returns:
            What the exports made.
        """
        entries = [Registration(None, _unmade, recipe.file, recipe.line) for recipe in self.recipes]
        handles: dict[int, HookHandle] = {}
        maker = Maker(
            dict(enumerate(loaded)),
            lambda index: handles.setdefault(index, HookHandle(entries[index])),
        )
        for entry, recipe in zip(entries, self.recipes, strict=True):
            entry.raw = maker.make(recipe.node)
        exported = tuple(map(maker.make, self.exports))
        maker.finish()
        armed = Armed(entries)
        for index, (entry, recipe) in enumerate(zip(entries, self.recipes, strict=True)):
            _check(entry)
            if recipe.tensor is not None:
                delegated = _Delegated(armed, index, recipe.reached)
                eager = maker.make(recipe.tensor).register_hook(delegated)
                if index in handles:
                    handles[index].follow(_Removal(delegated, eager))
        self._announce(armed, outputs)
        return exported

    def hook_of_run(self, index: int) -> Callable[..., Any] | None:
        """Return a hook of the run whose backward is executed, None if it has nothing to do."""
        armed = self._current() if self._current is not None else None
        if armed is None or armed.entries[index].removed:
            return None
        has_gradient = armed.live & self.recipes[index].reached
        return armed.entries[index].raw if has_gradient else None

    def _announce(self, armed: Armed, outputs: Sequence[paddle.Tensor]) -> None:
        """Let a backward know its run: a hook on the outputs lives as long as their graph."""

        def announce(bit: int, gradient: paddle.Tensor | None) -> None:
            self._current = weakref.ref(armed)
            armed.live |= 0 if gradient is None else bit
            this, armed.first = _local.current, armed.first or _local.current
            if this is not armed.first:
                this.again = self._site
            if this.is_twice:
                callbacks.abort(self._not_twice())

        reached = functools.reduce(operator.or_, (recipe.reached for recipe in self.recipes), 0)
        for tensor, (bit, is_used) in zip(outputs, self.outputs, strict=True):
            sot_marks.mark_hooked(tensor, bool(reached & bit), self._site if is_used else None)
            # Not by `register_hook`: whoever watches that should see the user's hooks alone.
            tensor._register_grad_hook(functools.partial(announce, bit))

    def _not_twice(self) -> UnsupportedHookError:
        return UnsupportedHookError(
            "paddle.grad: create_graph must be False where a compiled function has hooks "
            f"({self._site}), since Paddle can't differentiate its graph twice; run the function "
            "eagerly for that"
        )


class Armed:
    """The hooks of one run.

    Attributes:
        live: the outputs whose gradient arrived, as bits.
        first: the first pass of backward that came here.
    """

    def __init__(self, entries: Sequence[Registration]) -> None:
        self.entries, self.live = entries, 0
        self.first: _Pass | None = None


@dataclass(eq=False)
class _Pass:
    """One pass of backward.

    Attributes:
        is_twice: whether it will be differentiated again.
        again: where the first hook of a run is whose backward has been executed before; else empty.
    """

    is_twice: bool = False
    again: str = ""


class _Local(threading.local):
    current = _Pass()


_local = _Local()


@contextmanager
def differentiating(is_twice: bool = False) -> Iterator[None]:
    """Run a pass of backward; explain where it fails since it is a second one.

    Args:
        is_twice: whether the pass will be differentiated again.
    """
    before = _local.current
    _local.current = this = _Pass(is_twice)
    try:
        yield
    except RuntimeError as error:
        if not this.again or "holder_" not in str(error):
            raise
        raise UnsupportedHookError(
            f"backward: it must run once for each call of a compiled function with hooks "
            f"({this.again}), but ran again, when Paddle had freed what it needs; add the losses "
            "and call backward once, or run the function eagerly"
        ) from error
    finally:
        _local.current = before


def _unmade(gradient: paddle.Tensor) -> None:
    """Stand for a hook until its recipe is made."""


def removed_handle(name: str, file: str, line: int) -> HookHandle:
    """Make the handle of a hook that the function has removed itself."""
    hook = functools.partial(_unmade)
    hook.__qualname__ = name  # type: ignore[attr-defined] # for messages
    entry = Registration(None, hook, file, line)
    entry.removed = True
    return HookHandle(entry)


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
        # The code that replaces the frame keeps `arming` alive. Nothing that a body reaches is in
        # there, so whoever looks for what this hook captures need not go through all of it.
        self._arming, self._index = weakref.ref(arming), index
        self.__qualname__ = arming.recipes[index].name
        self.__name__ = self.__qualname__.rpartition(".")[2]
        bodies.callback(self)

    def __call__(self, gradient: paddle.Tensor) -> Any:
        """Call the hook of the run."""
        arming = self._arming()
        hook = arming.hook_of_run(self._index) if arming is not None else None
        if hook is None:
            return None
        self.__qualname__ = bodies.name_of(hook)  # errors name the hook of the run
        return hook(gradient)


class _Delegated:
    """A hook on an eager tensor that the frame got from outside.

    Args:
        armed: the hooks of the run.
        index: of the hook.
        reached: the outputs of the graph that depend on the tensor, as bits.
    """

    def __init__(self, armed: Armed, index: int, reached: int) -> None:
        self.entry, self.is_running = armed.entries[index], False
        # The tensor may live long; what other hooks of the run hold must not live as long.
        self._armed, self._reached = weakref.ref(armed), reached
        entry = self.entry
        self._placed = Placed(entry.raw, bodies.Decision(False, "its tensor is the caller's"), [])
        self.__name__ = bodies.name_of(entry.raw).rpartition(".")[2]

    def __call__(self, gradient: paddle.Tensor | None) -> paddle.Tensor | None:
        """Call the hook, so that its exception keeps its type."""
        if gradient is None or not self._is_reached(gradient):
            return gradient
        self.is_running = True
        try:
            return callbacks.call(self.entry, self._placed, None, gradient, ())
        except BaseException as error:
            callbacks.abort(error)
        finally:
            self.is_running = False

    def _is_reached(self, gradient: paddle.Tensor) -> bool:
        """Tell whether a gradient is one, and not the zeros of a graph whose outputs got none."""
        armed = self._armed()
        is_unknown = armed is None or not self._reached or bool(armed.live & self._reached)
        return is_unknown or gradient.is_selected_rows() or bool((gradient != 0).any())


class _Removal(TensorHookRemoveHelper):
    """Removes a delegated hook; also from inside its own body, where eager mode breaks down."""

    def __init__(self, delegated: _Delegated, eager: TensorHookRemoveHelper) -> None:
        self._delegated, self._eager = delegated, eager

    def remove(self) -> bool:
        """Remove the hook; tell whether it was registered."""
        entry = self._delegated.entry
        if entry.removed or not self._delegated.is_running:
            return self._eager.remove() and not entry.removed
        entry.removed = True
        return True
