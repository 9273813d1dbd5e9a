"""Tensor hooks in Paddle's static graphs, with the behaviour of eager mode.

    import static_hooks

    static_hooks.enable()

From then on `Tensor.register_hook` works in functions converted by `paddle.jit.to_static` and in
`paddle.static` programs. The design, with its proofs, is the RFC that this package comes with.
"""

from .bodies import callback, traced
from .compare import Report, compare
from .errors import (
    ForcedTraceError,
    HookTypeError,
    HookUsageError,
    HookValueError,
    StaticHooksError,
    UnknownPaddleError,
    UnsupportedHookError,
)
from .explain import Explanation, explain
from .patches import disable, enable, enabled
from .registration import HookHandle

__version__ = "0.1.0"

__all__ = [
    "Explanation",
    "ForcedTraceError",
    "HookHandle",
    "HookTypeError",
    "HookUsageError",
    "HookValueError",
    "Report",
    "StaticHooksError",
    "UnknownPaddleError",
    "UnsupportedHookError",
    "callback",
    "compare",
    "disable",
    "enable",
    "enabled",
    "explain",
    "traced",
]
