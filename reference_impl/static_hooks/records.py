"""What is recorded of a run: tensors, and the calls of hooks.

A call is recorded by a hook that only looks, registered just before the hook and removed with it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import paddle
from paddle.jit.sot.utils import no_eval_frame

Call = tuple[str, list[float]]


@dataclass(frozen=True, eq=False)
class Array:
    """A tensor's contents after a run; those of bfloat16 are widened to float32."""

    values: np.ndarray[Any, Any]
    dtype: str

    def tolist(self) -> Any:
        """Return the contents as nested lists."""
        return self.values.tolist()

    def __repr__(self) -> str:
        return np.array2string(self.values, separator=", ", threshold=12, precision=6)


@dataclass(frozen=True)
class Run:
    """What one mode did.

    Attributes:
        mode: One of `MODES`.
        outputs: What the last round returned, flattened.
        gradients: Accumulated over the rounds, by name: "x0" is the first input; a Layer's
            parameters have their structured names. None where no gradient arrived.
        calls: The hook calls in order: the hook's name and the gradient that it was given,
            flattened, to six significant digits. None where the hooks run but can't be watched.
        log: What was appended to the function's parameter `log`.
        error: Type and first line of the exception that ended the run, or None.
        graphs: How many graphs SOT compiled over all rounds; None in other modes.
        breaks: How many graph breaks SOT counted over all rounds; None in other modes.
    """

    mode: str
    outputs: tuple[Array, ...] = ()
    gradients: dict[str, Array | None] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    log: list[Any] = field(default_factory=list)
    error: str | None = None
    graphs: int | None = None
    breaks: int | None = None


def array_of(tensor: paddle.Tensor) -> Array:
    """Copy a tensor's contents; rows of a sparse gradient are added up into a dense array."""
    dtype = dtype_of(tensor)
    if tensor.is_selected_rows():
        rows: Any = tensor.get_selected_rows()  # type: ignore[func-returns-value]
        values = np.zeros((rows.height(), *tensor.shape[1:]), np.float32)
        np.add.at(values, rows.rows(), tensor.numpy())  # a row may come several times
        return Array(values, dtype)
    wide = tensor.astype("float32") if dtype == "bfloat16" else tensor
    return Array(wide.detach().numpy().copy(), dtype)


def dtype_of(tensor: Any) -> str:
    """Return the name of a tensor's or value's dtype."""
    return str(tensor.dtype).removeprefix("paddle.")


@contextmanager
def observed(calls: list[Call], static: bool) -> Iterator[None]:
    """Record every hook call by a hook registered just before each hook, and removed with it."""
    owners = [paddle.Tensor, paddle.pir.Value] if static else [paddle.Tensor]
    originals = [owner.register_hook for owner in owners]
    for owner, original in zip(owners, originals, strict=True):
        owner.register_hook = _observing(original, calls)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for owner, original in zip(owners, originals, strict=True):
            owner.register_hook = original  # type: ignore[method-assign]


def _observing(original: Any, calls: list[Call]) -> Callable[..., Any]:
    # Neither conversion may translate the watching itself.
    @paddle.jit.marker.unified
    @no_eval_frame  # type: ignore[untyped-decorator]
    def register_hook(tensor: Any, hook: Any) -> Any:
        if getattr(hook, "__module__", None) == "static_hooks.boundaries":
            return original(tensor, hook)  # seen when the static graph recorded it
        watching = original(tensor, _Observer(hook, calls))
        return _Handle(watching, original(tensor, hook))

    return register_hook


class _Observer:
    """A hook that records the gradient that it is given."""

    def __init__(self, hook: Any, calls: list[Call]) -> None:
        named = getattr(hook, "func", hook)
        self.name = getattr(named, "__name__", type(named).__name__)
        self.calls = calls

    def __call__(self, gradient: paddle.Tensor) -> None:
        values = array_of(gradient).values.reshape(-1)
        self.calls.append((self.name, [float(f"{value:.6g}") for value in values]))


class _Handle:
    """The handle of a hook that is watched."""

    def __init__(self, watching: Any, handle: Any) -> None:
        self._watching, self._handle = watching, handle

    @no_eval_frame  # type: ignore[untyped-decorator]
    def remove(self) -> bool:
        """Remove the hook and what watches it; the answer, and its warnings, are the hook's."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._watching.remove()
        return bool(self._handle.remove())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)
