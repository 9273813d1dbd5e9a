"""The user's own function behind one that AST conversion has rewritten.

AST conversion rewrites a whole function, the functions nested in it included. A hook that is nested
in `forward` therefore arrives with other code (`.numpy()` is gone, `if` became a call), a *copy* of
its module's globals and *copies* of the cells from outside the converted function. Called back at
run time it would do something else than in eager mode, and see frozen state. `restore` rebuilds the
hook from the code that the user wrote, the real globals and the real cells.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .codes import contents, nested
from .errors import UnsupportedHookError
from .surfaces import Location, UndefinedVar, global_origin_info_map


@dataclass(frozen=True)
class Conversion:
    """One converted function, and the function of the user's that it was made from.

    Attributes:
        own: the user's code by the identity of the code that was converted from it.
    """

    converted: weakref.ref[types.FunctionType]
    original: weakref.ref[types.FunctionType]
    own: dict[int, types.CodeType] = field(default_factory=dict)


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


@dataclass(frozen=True)
class Origin:
    """What `restore` needs of a hook's conversion; it must outlive the trace.

    Attributes:
        converted, original: the function that the hook is nested in.
        cells: the hook's own variables.
        lost: cells of the traced frame that conversion cut the hook's code off from.
    """

    converted: types.FunctionType
    original: types.FunctionType
    cells: dict[str, types.CellType]
    lost: dict[str, types.CellType]


def origin_of(hook: Callable[..., Any]) -> Origin | None:
    """Return what `restore` will need of `hook`, while the frame that made it still runs."""
    function: Any = hook.func if isinstance(hook, functools.partial) else hook
    function = function.__func__ if isinstance(function, types.MethodType) else function
    if not _is_converted(function):
        return None
    conversion = _CONVERSIONS[function.__code__.co_filename]
    converted, original = conversion.converted(), conversion.original()
    if converted is None or original is None or _default(function, converted, original):
        return None
    # To conversion `c[0] += 1` in an `if` assigns `c`, which becomes a variable of the hook's own.
    names = set(_own_code(function, converted, original).co_freevars)
    cells = _cells(function)
    names -= {*cells, *_cells(original)}
    return Origin(converted, original, cells, _frame_cells(names, converted) if names else {})


def _frame_cells(names: set[str], converted: types.FunctionType) -> dict[str, types.CellType]:
    codes = {converted.__code__, *nested(converted.__code__)}
    cells: dict[str, types.CellType] = {}
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in codes:
            for name in names & frame.f_locals.keys() - cells.keys():
                if not isinstance(frame.f_locals[name], UndefinedVar):
                    cells[name] = types.CellType(frame.f_locals[name])
        frame = frame.f_back
    return cells


def restore(hook: Callable[..., Any], origin: Origin | None = None) -> Callable[..., Any]:
    """Return `hook` as the user wrote it; a hook that no conversion touched comes back as it is."""
    restored: Callable[..., Any] = _Restorer(origin.lost if origin else {}).restore(hook)
    return restored


def site_of(frame: types.FrameType) -> tuple[str, int]:
    """Return file and line of a frame; of converted code, those in the user's file."""
    return _origin(frame.f_code.co_filename, frame.f_lineno)


def is_converted(frame: types.FrameType) -> bool:
    """Tell whether a frame runs code that AST conversion made."""
    return frame.f_code.co_filename in _CONVERSIONS


def caller() -> tuple[str, int]:
    """Find the user's line: the first frame that is neither this package's nor Paddle's."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if is_converted(frame) or module.partition(".")[0] not in ("paddle", "static_hooks"):
            return site_of(frame)
        frame = frame.f_back
    return "<unknown>", 0


def traced_frames() -> Iterator[tuple[types.FrameType, types.FunctionType]]:
    """Yield the frames of converted functions that run, and the user's functions."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        conversion = _CONVERSIONS.get(frame.f_code.co_filename)
        original = conversion.original() if conversion else None
        if original is not None:
            yield frame, original
        frame = frame.f_back


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
    def __init__(self, lost: dict[str, types.CellType]) -> None:
        self._lost = lost
        self._done: dict[int, types.FunctionType] = {}

    def restore(self, hook: Any) -> Any:
        if isinstance(hook, functools.partial):
            return BoundArguments(self.restore(hook.func), list(hook.args), hook.keywords)
        if isinstance(hook, types.MethodType):
            function: Any = hook.__func__
            if _is_converted(function):
                return types.MethodType(self._function(function), hook.__self__)
        elif _is_converted(hook):
            return self._function(hook)
        elif isinstance(hook, types.FunctionType):
            return self._wrapper(hook)
        return hook

    def _wrapper(self, hook: types.FunctionType) -> types.FunctionType:
        """Restore what a function from elsewhere wraps, such as what `paddle.no_grad()` made."""
        cells = hook.__closure__ or ()
        restored = [self._wrapped(cell) for cell in cells]
        if all(new is old for new, old in zip(restored, cells, strict=True)):
            return hook
        done = types.FunctionType(
            hook.__code__, hook.__globals__, hook.__name__, hook.__defaults__, tuple(restored)
        )
        done.__kwdefaults__ = hook.__kwdefaults__
        functools.update_wrapper(done, hook)
        return done

    def _wrapped(self, cell: types.CellType) -> types.CellType:
        content = contents(cell)
        return types.CellType(self._function(content)) if _is_converted(content) else cell

    def _function(self, hook: types.FunctionType) -> types.FunctionType:
        if id(hook) in self._done:
            return self._done[id(hook)]
        conversion = _CONVERSIONS[hook.__code__.co_filename]
        converted, original = conversion.converted(), conversion.original()
        if converted is None or original is None:
            return hook
        if default := _default(hook, converted, original):
            return default
        code = _own_code(hook, converted, original)
        closure = [self._cell(name, hook, converted, original) for name in code.co_freevars]
        done = types.FunctionType(
            code, original.__globals__, hook.__name__, hook.__defaults__, tuple(closure)
        )
        done.__kwdefaults__ = hook.__kwdefaults__
        # Python 3.10 keeps no qualified name in the code: drop the wrapper that conversion made.
        wrapped = hook.__qualname__.partition(".<locals>.")[2]
        done.__qualname__ = getattr(code, "co_qualname", wrapped)
        done.__dict__ = hook.__dict__  # one for both: the function may set attributes later
        self._done[id(hook)] = done
        for cell in closure:  # functions nested beside the hook were converted as well
            if _is_converted(contents(cell)):
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
        cell = _cells(hook).get(name)
        if cell is None:
            return _cells(original).get(name) or self._lost.get(name) or types.CellType()
        if cell is _cells(converted).get(name) and name in _cells(original):
            return _cells(original)[name]
        return types.CellType(cell.cell_contents) if _is_converted(contents(cell)) else cell


def _is_converted(found: Any) -> bool:
    return isinstance(found, types.FunctionType) and found.__code__.co_filename in _CONVERSIONS


def _cells(function: types.FunctionType) -> dict[str, types.CellType]:
    return dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))


def _default(hook: Any, converted: Any, original: Any) -> types.FunctionType | None:
    """Return the user's own default of a parameter, if `hook` is what conversion made of it."""
    mine = [*(converted.__defaults__ or ()), *(converted.__kwdefaults__ or {}).values()]
    theirs: list[Any] = [*(original.__defaults__ or ()), *(original.__kwdefaults__ or {}).values()]
    return dict(zip(map(id, mine), theirs, strict=False)).get(id(hook))


def _own_code(
    hook: types.FunctionType, converted: types.FunctionType, original: types.FunctionType
) -> types.CodeType:
    """Find the code object in `original` that the code of `hook` was converted from."""
    if hook.__code__ is converted.__code__:
        return original.__code__
    own = _CONVERSIONS[hook.__code__.co_filename].own
    if not own:
        own.update(_matched(converted.__code__, original.__code__))
    if id(hook.__code__) not in own:
        file, line = _origin(hook.__code__.co_filename, hook.__code__.co_firstlineno)
        raise UnsupportedHookError(
            f"backward hook {hook.__name__!r} at {file}:{line} must be the only one of its name "
            "and parameters on its line, but got several; write each on a line of its own"
        )
    return own[id(hook.__code__)]


def _matched(
    converted: types.CodeType, original: types.CodeType
) -> Iterator[tuple[int, types.CodeType]]:
    """Pair the nested functions: those of one name and parameters are in the same order in both."""
    mine, theirs = _grouped(nested(converted), _head), _grouped(nested(original), _head)
    for head, codes in mine.items():
        others = theirs.get(head, [])
        if len(codes) == len(others):
            yield from zip(map(id, codes), others, strict=True)
            continue
        on_line = _grouped(others, lambda code: code.co_firstlineno)
        for line, here in _grouped(codes, _line).items():
            if len(here) == len(on_line.get(line, [])):
                yield from zip(map(id, here), on_line[line], strict=True)


def _grouped(
    codes: Iterable[types.CodeType], key: Callable[[types.CodeType], Any]
) -> dict[Any, list[types.CodeType]]:
    groups: dict[Any, list[types.CodeType]] = {}
    for code in codes:
        groups.setdefault(key(code), []).append(code)
    return groups


def _head(code: types.CodeType) -> tuple[Any, ...]:
    """Return a function's name and parameters, which set it apart from what conversion adds."""
    variadic = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
    count = code.co_argcount + code.co_kwonlyargcount
    count += sum(bool(code.co_flags & flag) for flag in variadic)
    return code.co_name, code.co_argcount, code.co_varnames[:count]


def _line(code: types.CodeType) -> int:
    return _origin(code.co_filename, code.co_firstlineno)[1]
