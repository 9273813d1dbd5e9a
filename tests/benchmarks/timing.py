"""Time two things against each other. It needs no framework, so that every peer is timed alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

Step = Callable[[], object]


@dataclass(frozen=True)
class Ratio:
    """How much longer one thing takes than another.

    Attributes:
        median: of the ratios of all pairs.
        low: their first quartile.
        high: their third quartile; the distance to `low` is the noise.
        seconds: the medians of the two things, for one step.
        pairs: how many pairs of runs were timed.
    """

    median: float
    low: float
    high: float
    seconds: tuple[float, float]
    pairs: int


def ratio(numerator: Step, denominator: Step, pairs: int = 600, steps: int = 10) -> Ratio:
    """Time `numerator` against `denominator`, in short runs that alternate.

    What disturbs the machine for longer than a pair disturbs both alike, and what disturbs a few
    pairs does not move the median.

    Args:
        numerator: one step of the thing of interest.
        denominator: one step of what it is compared with.
        pairs: how many pairs of runs.
        steps: how many steps a run has.
    """
    timed = []
    _run(numerator, steps)
    _run(denominator, steps)
    gc.disable()
    try:
        for index in range(pairs):
            if index % 2:
                second = _run(denominator, steps)
                timed.append((_run(numerator, steps), second))
            else:
                timed.append((_run(numerator, steps), _run(denominator, steps)))
    finally:
        gc.enable()
    low, median, high = statistics.quantiles([a / b for a, b in timed], n=4)
    above, below = (statistics.median(column) for column in zip(*timed, strict=True))
    return Ratio(median, low, high, (above, below), pairs)


def _run(step: Step, steps: int) -> float:
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - start) / steps
