"""Bodies with effects: Python that runs at every backward, with real tensors, in eager's order.

A callback is a Python operation of the backward graph. Paddle registers such an operation by name
and for ever, so there is one registration per number of inputs, and the hook is chosen at run time
by a key that is an input. The executor runs independent operations in any order; a *token* that
each callback takes from the one before makes the order of effects part of the data flow, keeps two
equal callbacks from being merged, and keeps a callback whose gradient nobody needs from being
pruned.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn
from weakref import WeakValueDictionary

import paddle

from . import bodies, branches, captures
from .errors import (
    HookAbortedError,
    HookTypeError,
    HookValueError,
    UnsupportedHookError,
    add_note,
)
from .flow import Run
from .registration import REFUSED, Registration, Registry
from .renewal import Placed
from .surfaces import Operation, Value, eager_mode, run_python_op

_keys = itertools.count(1)
_NAME = "static_hook_"
_IN_ORDER = "FLAGS_enable_pir_in_executor_trace_run"
# The program that holds the operation keeps its callbacks alive (`Registry.callbacks`).
_LIVE: WeakValueDictionary[int, Callback] = WeakValueDictionary()
# Exceptions raised by bodies, waiting for the caller of `backward()`: one list for each call that
# runs, since a body may run backward as well.
_local = threading.local()


class Callback:
    """One hook at one place of one program."""

    def __init__(self, registry: Registry, registration: Registration, placed: Placed) -> None:
        self.registry, self.registration, self.placed = registry, registration, placed
        self.key = next(_keys)
        _LIVE[self.key] = self
        registry.callbacks.append(self)

    def __call__(self, gradient: paddle.Tensor, captured: Sequence[Any]) -> paddle.Tensor:
        """Call the hook back, for the run whose backward is being executed."""
        return call(self.registration, self.placed, self.registry.run, gradient, captured)


def call(
    registration: Registration,
    placed: Placed,
    run: Run | None,
    gradient: paddle.Tensor,
    captured: Sequence[Any],
) -> paddle.Tensor:
    """Run a body in Python and check what it returns.

    Args:
        registration: what was registered, and where.
        placed: the hook, and what it captures.
        run: the forward run that this backward belongs to, if the hook depends on it.
        gradient: the accumulated gradient, of the hooked tensor's shape and dtype.
        captured: real tensors for the forward values that the hook reaches.

    Returns:
        The gradient to go on with, in memory of its own.

    Raises:
        HookTypeError, HookValueError, UnsupportedHookError: the body did what a hook can't do.
    """
    own = gradient.clone()  # the body may keep or change it; the executor reuses memory
    if registration.is_removed_in(run) or not registration.is_reached_in(run):
        return own
    if not branches.are_met(placed.conditions, captured[len(captured) - len(placed.conditions) :]):
        return own
    try:
        result = _called(placed, run, own, captured)
        if result is not own or own.inplace_version:
            check(placed.hook, result, gradient, paddle.Tensor)
        # The body may have kept what it got and what it returned; the executor writes in place.
        copy: paddle.Tensor = result.detach().clone()
        return copy
    except BaseException as error:
        name = bodies.name_of(placed.hook)
        add_note(error, f"in backward hook {name!r}, registered at {registration.site}")
        if captured and str(error) == REFUSED:
            raise _registering(name) from error
        raise


def _registering(name: str) -> UnsupportedHookError:
    return UnsupportedHookError(
        f"backward hook {name!r} must not register a hook on a tensor of the forward, which has no "
        "gradient of its own in a static graph; register it in the forward"
    )


def _called(placed: Placed, run: Run | None, own: paddle.Tensor, captured: Sequence[Any]) -> Any:
    """Call a body with a gradient of its own, which is the result where there is no other."""
    own.stop_gradient = False
    hook, slots, captured = placed.in_run(run.copies if run is not None else None, captured)
    if slots:
        arguments = run.arguments if run is not None else ()
        with captures.swapped(slots, captured, arguments):
            result = hook(own)
    else:
        result = hook(own)
    return own if result is None else result


def check(hook: Any, result: Any, gradient: Any, kind: type[Any]) -> None:
    """Refuse a result that is not a tensor of the gradient's shape and dtype."""
    if not isinstance(result, kind):
        raise HookTypeError(_must_return(hook, "a tensor or None", type(result).__name__))
    if result.shape != gradient.shape:
        must = f"a tensor of shape {list(gradient.shape)}"
        raise HookValueError(_must_return(hook, must, list(result.shape)))
    if result.dtype != gradient.dtype:
        must = f"a tensor of dtype {gradient.dtype}"
        raise HookValueError(_must_return(hook, must, result.dtype))


def _must_return(hook: Any, must: str, got: object) -> str:
    return f"backward hook {bodies.name_of(hook)!r} must return {must}, but got {got}"


def emit(
    callback: Callback, token: Value, gradient: Value, captured: Sequence[Value]
) -> tuple[Value, Value]:
    """Append the operation that calls back; return the next token and the new gradient."""
    key = paddle.full([], callback.key, "int64")
    names = ["token", "key", "gradient", *(f"captured{i}" for i in range(len(captured)))]
    outputs: tuple[Value, Value] = run_python_op(
        *(token, key, gradient, *captured),
        name=f"{_NAME}{len(captured)}",
        input_names=names,
        output_names=["next_token", "new_gradient"],
        attrs={"infer_meta_fn_ptr": _meta, "fn_ptr": _dispatch},
        inplace_map={},
    )
    return outputs


def is_callback(op: Operation) -> bool:
    """Tell whether an operation of a program calls a hook back."""
    return bool(op.name().startswith(f"py_op.{_NAME}"))


def _like(tensor: Any) -> Any:
    return paddle.static.MetaTensor(dtype=tensor.dtype, shape=tensor.shape)


def _meta(token: Any, key: Any, gradient: Any, *captured: Any) -> Any:
    return _like(token), _like(gradient)


def _dispatch(token: Any, key: Any, gradient: Any, *captured: Any) -> Any:
    try:
        callback = _LIVE[key.item()]
        if paddle.in_dynamic_mode():
            return token, callback(gradient, captured)
        with eager_mode():
            return token, callback(gradient, captured)
    except BaseException as error:
        _silence_once()
        abort(error)


def _silence_once() -> None:
    """Keep Paddle from printing the abort, which it hands to `sys.excepthook`."""
    previous = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        sys.excepthook = previous
        if kind is not HookAbortedError:
            previous(kind, error, trace)

    sys.excepthook = excepthook


def abort(error: BaseException) -> NoReturn:
    """Stop the executor, whose C++ frames would lose `error`, and keep it for the caller."""
    for failures in _calls()[-1:]:
        failures.append(error)
    raise HookAbortedError("a backward hook raised; its exception follows") from None


def _calls() -> list[list[BaseException]]:
    if not hasattr(_local, "calls"):
        _local.calls = []
    calls: list[list[BaseException]] = _local.calls
    return calls


def take_failure() -> BaseException | None:
    """Take the first exception that a body raised in the call that is collected, if one did."""
    failures = _calls()[-1]
    return failures.pop(0) if failures else None


def raising(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let the exception of a body reach the caller of `original` as the body raised it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        _calls().append([])
        try:
            with in_callers_thread():
                return original(*args, **kwargs)
        except BaseException:
            failure = take_failure()
            if failure is None:
                raise
        finally:
            _calls().pop()
        _forget_abort()
        raise failure

    return call


def _forget_abort() -> None:
    """Drop the abort that Python keeps as the last error printed: its frames hold the program."""
    if isinstance(getattr(sys, "last_value", None), HookAbortedError):
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            vars(sys).pop(name, None)


@contextmanager
def in_callers_thread() -> Iterator[None]:
    """Let programs that start inside run their operations one by one in this thread.

    Paddle's executor otherwise hands each operation to a thread of a pool: ten times slower for a
    callback, and a hook would not see the caller's thread-local state, as it does in eager mode.
    The executor reads the flag when it runs a program for the first time.
    """
    if not _LIVE:
        yield
        return
    before = paddle.get_flags(_IN_ORDER)
    paddle.set_flags({_IN_ORDER: True})
    try:
        yield
    finally:
        paddle.set_flags(before)
