"""Everything that `static_hooks` raises of its own.

    StaticHooksError
    ├── HookUsageError          the caller's hook is at fault
    │   ├── HookTypeError       (TypeError)   not callable, or returned something that is no tensor
    │   ├── HookValueError      (ValueError)  returned a tensor of another shape or dtype
    │   └── ForcedTraceError    (ValueError)  `@traced` on a body that can't be traced
    ├── UnsupportedHookError    (NotImplementedError)  right, but not possible in a static graph
    └── UnknownPaddleError      (RuntimeError)  `enable()` met a Paddle that it does not know

An exception raised by a hook's own body is none of these: it reaches the caller of `backward()` as
it was raised, with a note that names the hook and the line that registered it.
"""

from __future__ import annotations


class StaticHooksError(Exception):
    """Base class of every error that this package raises of its own."""


class HookUsageError(StaticHooksError):
    """The hook that was registered, or what it returned, is not usable."""


class HookTypeError(HookUsageError, TypeError):
    """A hook is not callable, or returned something that is neither a tensor nor None."""


class HookValueError(HookUsageError, ValueError):
    """A hook returned a tensor whose shape or dtype is not that of the gradient."""


class ForcedTraceError(HookUsageError, ValueError):
    """A hook marked `@traced` has a body that must run in Python."""


class UnsupportedHookError(StaticHooksError, NotImplementedError):
    """A hook is meaningful in eager mode but has no right meaning in this static graph."""


class UnknownPaddleError(StaticHooksError, RuntimeError):
    """The installed Paddle lacks a surface that the patches rely on."""


class HookAbortedError(Exception):
    """Stops Paddle's executor after a hook's body failed; never reaches the user.

    The body's own exception waits in `callbacks` and replaces this one in the caller.
    """


def add_note(error: BaseException, note: str) -> None:
    """Attach `note` to `error`, on Python 3.10 too, where tracebacks do not print it."""
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:
        error.__notes__ = [*getattr(error, "__notes__", []), note]
