"""The user's own function behind one that AST conversion has rewritten.

AST conversion rewrites a whole function, the functions nested in it included. A hook that is nested
in `forward` therefore arrives with other code (`.numpy()` is gone, `if` became a call), a *copy* of
its module's globals and *copies* of the cells from outside the converted function. Called back at
run time it would do something else than in eager mode, and see frozen state. `restore` rebuilds the
hook from the code that the user wrote, the real globals and the real cells.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .surfaces import Location, global_origin_info_map


@dataclass(frozen=True)
class Conversion:
    """One converted function, and the function of the user's that it was made from."""

    converted: weakref.ref[types.FunctionType]
    original: weakref.ref[types.FunctionType]


# By the file that Paddle wrote the converted code to: one file a conversion.
_CONVERSIONS: dict[str, Conversion] = {}


def remember(converted: types.FunctionType, original: Callable[..., Any]) -> None:
    """Record that AST conversion made `converted` from `original`."""
    user_function: Any = getattr(original, "__func__", original)
    file = converted.__code__.co_filename
    forget = functools.partial(_forget, file)
    _CONVERSIONS[file] = Conversion(weakref.ref(converted, forget), weakref.ref(user_function))


def _forget(file: str, _: weakref.ref[types.FunctionType]) -> None:
    _CONVERSIONS.pop(file, None)


def keep_alive(hook: Callable[..., Any]) -> tuple[Any, ...]:
    """Return what `restore` will need of `hook`'s conversion, so that it outlives the trace."""
    function = getattr(getattr(hook, "func", hook), "__func__", getattr(hook, "func", hook))
    if not _is_converted(function):
        return ()
    conversion = _CONVERSIONS[function.__code__.co_filename]
    return conversion.converted(), conversion.original()


def restore(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Return `hook` as the user wrote it; a hook that no conversion touched comes back as it is."""
    restored: Callable[..., Any] = _Restorer().restore(hook)
    return restored


def site_of(frame: types.FrameType) -> tuple[str, int]:
    """Return file and line of a frame; of converted code, those in the user's file."""
    return _origin(frame.f_code.co_filename, frame.f_lineno)


def is_converted(frame: types.FrameType) -> bool:
    """Tell whether a frame runs code that AST conversion made."""
    return frame.f_code.co_filename in _CONVERSIONS


def _origin(file: str, line: int) -> tuple[str, int]:
    origin = global_origin_info_map.get(Location(file, line).line_location)
    return (origin.location.filepath, origin.location.lineno) if origin else (file, line)


@dataclass
class BoundArguments:
    """A `functools.partial` whose positional arguments can be filled in place."""

    function: Callable[..., Any]
    arguments: list[Any]
    keywords: dict[str, Any] = field(default_factory=dict)

    def __call__(self, gradient: Any) -> Any:
        """Call the function with the arguments and `gradient`."""
        return self.function(*self.arguments, gradient, **self.keywords)


class _Restorer:
    def __init__(self) -> None:
        self._done: dict[int, types.FunctionType] = {}

    def restore(self, hook: Any) -> Any:
        if isinstance(hook, functools.partial):
            return BoundArguments(self.restore(hook.func), list(hook.args), hook.keywords)
        if isinstance(hook, types.MethodType):
            function = self.restore(hook.__func__)
            return hook if function is hook.__func__ else types.MethodType(function, hook.__self__)
        if _is_converted(hook):
            return self._function(hook)
        return hook

    def _function(self, hook: types.FunctionType) -> types.FunctionType:
        if id(hook) in self._done:
            return self._done[id(hook)]
        conversion = _CONVERSIONS[hook.__code__.co_filename]
        converted, original = conversion.converted(), conversion.original()
        if converted is None or original is None:
            return hook
        code = _own_code(hook, converted, original)
        closure = [self._cell(name, hook, converted, original) for name in code.co_freevars]
        done = types.FunctionType(
            code, original.__globals__, hook.__name__, hook.__defaults__, tuple(closure)
        )
        done.__kwdefaults__ = hook.__kwdefaults__
        # Python 3.10 keeps no qualified name in the code: drop the wrapper that conversion made.
        wrapped = hook.__qualname__.partition(".<locals>.")[2]
        done.__qualname__ = getattr(code, "co_qualname", wrapped)
        done.__dict__.update(hook.__dict__)
        self._done[id(hook)] = done
        for cell in closure:  # functions nested beside the hook were converted as well
            if _is_converted(_contents(cell)):
                cell.cell_contents = self.restore(cell.cell_contents)
        return done

    def _cell(
        self,
        name: str,
        hook: types.FunctionType,
        converted: types.FunctionType,
        original: types.FunctionType,
    ) -> types.CellType:
        """Choose the cell of one free variable: the user's own, or the one of the traced frame."""
        cell = _cells(hook)[name]
        if cell is _cells(converted).get(name) and name in _cells(original):
            return _cells(original)[name]
        return types.CellType(cell.cell_contents) if _is_converted(_contents(cell)) else cell


def _is_converted(found: Any) -> bool:
    return isinstance(found, types.FunctionType) and found.__code__.co_filename in _CONVERSIONS


def _cells(function: types.FunctionType) -> dict[str, types.CellType]:
    return dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that is not assigned yet
        return None


def _own_code(
    hook: types.FunctionType, converted: types.FunctionType, original: types.FunctionType
) -> types.CodeType:
    """Find the code object in `original` that the code of `hook` was converted from."""
    name = hook.__code__.co_name
    line = _origin(hook.__code__.co_filename, hook.__code__.co_firstlineno)[1]
    mine = [code for code in nested(converted.__code__) if code.co_name == name]
    theirs = [code for code in nested(original.__code__) if code.co_name == name]
    if hook.__code__ is converted.__code__:
        return original.__code__
    if len(mine) == len(theirs):
        return next(t for m, t in zip(mine, theirs, strict=True) if m is hook.__code__)
    on_line = [code for code in theirs if code.co_firstlineno == line]
    return (on_line or theirs)[0]


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield every code object nested in `code`, in the order of the text."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from nested(constant)
