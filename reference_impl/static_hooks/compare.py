"""The differential oracle: run a function eagerly and in static graphs, and say where they differ.

Eager mode is the oracle, run live in the same process; `runs` runs one mode, `records` is
what is recorded of it.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .records import Array, Run
from .runs import MODES, Runner, argument

# (relative, absolute) by dtype. The 16-bit types allow a few units in the last place: a compiler
# may fuse what eager mode rounds one operation at a time.
TOLERANCES = {
    "float64": (1e-7, 1e-9),
    "float32": (1e-5, 1e-6),
    "float16": (4e-3, 1e-4),
    "bfloat16": (3e-2, 1e-3),
}


# A difference in a printed report is cut here; `Report.differences` has all of it.
_WIDTH = 300


@dataclass(frozen=True, repr=False)
class Report:
    """The runs of one function, by mode, and what differs from the first mode."""

    runs: dict[str, Run]

    def __getattr__(self, name: str) -> Run:
        if name in MODES:
            if name in self.runs:
                return self.runs[name]
            raise AttributeError(
                f"report.{name}: the modes must include {name!r} but got {list(self.runs)}"
            )
        raise AttributeError(name)

    @property
    def static(self) -> Run:
        """The run of the one static mode."""
        static = [run for run in self.runs.values() if run.mode != "eager"]
        if len(static) != 1:
            raise ValueError(
                "report.static: there must be one static mode but got "
                f"{[run.mode for run in static]}; name the mode that you mean, as report.ast"
            )
        return static[0]

    @property
    def differences(self) -> tuple[str, ...]:
        """One sentence for each thing that a mode did otherwise than the first mode."""
        first, *others = self.runs.values()
        return tuple(
            f"{run.mode}: {what}: must be {must} but got {got}"
            for run in others
            for what, must, got in _facts(first, run)
            if not same(must, got)
        )

    @property
    def same(self) -> bool:
        """Whether every mode did what the first mode did."""
        return not self.differences

    def rows(self) -> tuple[tuple[str, str, str, str], ...]:
        """Return (what, eager, static, difference) for each thing that was compared."""
        first, *others = self.runs.values()
        return tuple(
            (
                what if len(others) == 1 else f"{run.mode}: {what}",
                str(must),
                str(got),
                "" if same(must, got) else "differs",
            )
            for run in others
            for what, must, got in _facts(first, run)
        )

    def __repr__(self) -> str:
        modes = ", ".join(self.runs)
        if self.same:
            return f"Report({modes}: same)"
        found = [textwrap.shorten(text, _WIDTH) for text in self.differences]
        return "\n  ".join([f"Report({modes}: {len(found)} differences)", *found])


def compare(
    function: Callable[..., Any],
    *inputs: Any,
    modes: Sequence[str] = ("eager", "ast"),
    rounds: int = 1,
    seed: int = 0,
) -> Report:
    """Run `function` in each mode from the same state and report where they differ.

    Each round calls the function and then `backward()` of the sum of all its floating-point
    outputs; gradients accumulate over the rounds.

    Args:
        function: A function of `inputs`; a `paddle.nn.Layer`; or, when it takes no arguments but
            there are inputs, a factory of either. A Layer is copied for each run, so that no state
            goes from one mode to the next. Copying loses the hooks on its parameters: give the
            class or a factory when `__init__` registers hooks. A parameter named `log` gets a fresh
            list.
        inputs: Tensors, arrays or lists of numbers become fresh tensors for each run, those of
            floating point with `stop_gradient=False`; anything else is copied and passed as it is.
        modes: Some of "eager", "ast" (`to_static(full_graph=True)`), "sot" (`full_graph=False`,
            with graphs of any size compiled) and "program" (`paddle.static` with `gradients`;
            functions only). The first is the one that the others are compared with.
        rounds: How many times to call the function and run backward.
        seed: Paddle's random seed at the start of each run.

    Returns:
        The report.

    Raises:
        ValueError: A mode is unknown.
    """
    for mode in modes:
        if mode not in MODES:
            raise ValueError(f"compare: modes must be among {MODES} but got {mode!r}")
    arguments = [argument(value) for value in inputs]
    runs = {}
    for mode in modes:
        runs[mode] = Runner(function, arguments, mode, rounds, seed)()
    return Report(runs)


def _facts(first: Run, other: Run) -> Iterator[tuple[str, Any, Any]]:
    """List (what, in the first run, in the other run) for all that is compared."""
    if first.error or other.error:
        yield "error", first.error, other.error
        return
    for index, pair in enumerate(itertools.zip_longest(first.outputs, other.outputs)):
        yield f"output {index}", *pair
    for name in {**first.gradients, **other.gradients}:
        yield f"gradient of {name}", first.gradients.get(name), other.gradients.get(name)
    if first.calls is not None and other.calls is not None:
        yield "calls", first.calls, other.calls
    yield "log", first.log, other.log


def same(must: Any, got: Any) -> bool:
    """Tell whether two results are the same: numbers within `TOLERANCES`, NaN never."""
    if isinstance(must, Array) and isinstance(got, Array):
        relative, absolute = TOLERANCES.get(must.dtype, (0, 0))
        return (must.dtype, must.values.shape) == (got.dtype, got.values.shape) and np.allclose(
            got.values, must.values, relative, absolute
        )
    if isinstance(must, float) and isinstance(got, float):
        return bool(np.isclose(got, must, *TOLERANCES["float32"]))
    if isinstance(must, dict) and isinstance(got, dict):
        return must.keys() == got.keys() and all(same(must[key], got[key]) for key in must)
    if isinstance(must, (list, tuple)) and type(must) is type(got):
        return len(must) == len(got) and all(map(same, must, got))
    return type(must) is type(got) and bool(must == got)
