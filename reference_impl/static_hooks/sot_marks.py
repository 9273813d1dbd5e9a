"""What is remembered of a tensor that a graph returned: whether it may be hooked outside."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass

import paddle

from .errors import UnsupportedHookError
from .sot_surfaces import translate

# Marks a tensor that a graph returned and used itself: where that is.
_USED = "_static_hooks_used_by_graph"
# Marks a tensor that a graph with hooks returned: whether its gradient comes to one of them.
_LEADS_TO_HOOKS = "_static_hooks_lead_to_hooks"


@dataclass(frozen=True)
class _Use:
    """Where a graph used what it returned, and whether it has hooks."""

    site: str
    is_hooked: bool


def mark_hooked(tensor: paddle.Tensor, leads_to_hooks: bool, site: str | None) -> None:
    """Mark a tensor that a graph with hooks returned; `site` is None if it did not use it."""
    setattr(tensor, _LEADS_TO_HOOKS, leads_to_hooks)
    if site is not None:
        setattr(tensor, _USED, _Use(site, is_hooked=True))


def without_hooks(tensor: paddle.Tensor) -> paddle.Tensor:
    """Detach an input that a graph has zeros for, if these would come to the hooks of a run."""
    return tensor.detach() if getattr(tensor, _LEADS_TO_HOOKS, False) else tensor


def mark_used(tensors: Sequence[paddle.Tensor], site: str) -> None:
    """Mark tensors that a graph without hooks returned and used itself."""
    for tensor in tensors:
        setattr(tensor, _USED, _Use(site, is_hooked=False))


def check_returned(tensor: paddle.Tensor, method: str) -> None:
    """Refuse to watch a gradient from outside where a part of it stays inside a graph."""
    use: _Use | None = getattr(tensor, _USED, None)
    # The caller of a function without hooks gets a part from Paddle, and goes on getting it.
    if use is not None and (use.is_hooked or _is_in_compiled_call()):
        raise UnsupportedHookError(
            f"Tensor.{method}: the tensor must not be used or hooked by the compiled function that "
            f"returned it, but it is ({use.site}), so a part of its gradient would be missing "
            "here; register the hook inside the function"
        )


def _is_in_compiled_call() -> bool:
    frame: types.FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename != translate.__file__:
        frame = frame.f_back
    return frame is not None
