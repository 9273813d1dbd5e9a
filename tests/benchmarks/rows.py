"""The benchmarks: each makes one row, in a process of its own."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import paddle
import static_hooks
from static_hooks.runs import compiling

from . import by_hand, memory
from .nets import LAYERS, Hook, Net, Unhooked, batch, halve, nothing, training_step
from .timing import Ratio, ratio


@dataclass(frozen=True)
class Row:
    """One measured ratio.

    Attributes:
        name: of the benchmark.
        value: the ratio; of times, the median.
        low: the first quartile of the ratios; of a few, the smallest.
        high: the third quartile; of a few, the largest.
        budget: what the value must not exceed; None for a row that is there to compare with.
        detail: further figures; times are in seconds, memory is in KiB.
    """

    name: str
    value: float
    low: float
    high: float
    budget: float | None
    detail: dict[str, Any]


def step_by_hand() -> Row:
    """Hooks against the hooks' operations written by hand, in plain static programs."""
    with static_hooks.enabled():
        paddle.enable_static()
        hooked, operations = by_hand.step_with_hooks()
        written, expected = by_hand.step_by_hand()
        found = ratio(hooked, written)
        paddle.disable_static()
    counts = {"hooked": operations.total(), "by hand": expected.total()}
    return _timed("step-by-hand", found, 1.03, operations=counts)


def operations() -> Row:
    """Operations in the training program against those in the program written by hand."""
    with static_hooks.enabled():
        paddle.enable_static()
        (_, hooked), (_, written) = by_hand.step_with_hooks(), by_hand.step_by_hand()
        paddle.disable_static()
    value = hooked.total() / written.total()
    only = {"only hooked": dict(hooked - written), "only by hand": dict(written - hooked)}
    return Row("operations", value, value, value, 1.0, {"hooked": hooked.total(), **only})


def step(mode: str, budget: float | None, is_enabled: bool = True) -> Row:
    """Training with hooks against training without, in one mode."""
    x = batch()
    switched = static_hooks.enabled() if is_enabled else nullcontext()
    with switched, compiling() if mode == "sot" else nullcontext({}) as counts:
        hooked, unhooked = (training_step(_net(mode, hook), x) for hook in (halve, None))
        found = ratio(hooked, unhooked)
    name = f"step-{mode}" if is_enabled else f"step-{mode}-as-it-is"
    compiled = {"compiled": dict(counts)} if mode == "sot" else {}
    return _timed(name, found, budget, **compiled)


def callback() -> Row:
    """One call of a hook in Python from a static graph against one in eager mode."""
    x = batch()
    with static_hooks.enabled():
        ast = [training_step(_net("ast", hook), x) for hook in (_called, None)]
        eager = [training_step(_net("eager", hook), x) for hook in (nothing, None)]
        differences: tuple[list[float], list[float]] = ([], [])
        for _ in range(20):
            for steps, into in zip((ast, eager), differences, strict=True):
                above, below = ratio(*steps, pairs=20).seconds
                into.append((above - below) / LAYERS)
    costs = [statistics.median(found) for found in differences]
    ratios = [above / costs[1] for above in differences[0]]
    low, _, high = statistics.quantiles(ratios, n=4)
    detail = {"callback": costs[0], "eager hook": costs[1]}
    return Row("callback", costs[0] / costs[1], low, high, 3.0, detail)


def tracing() -> Row:
    """Tracing with 100 hooks against tracing without, and whether it grows as they do."""
    seconds = {}
    with static_hooks.enabled():
        _traced(10, halve)
        for hooks, pairs in ((10, 15), (100, 7), (1000, 1)):
            timed = [(_traced(hooks, halve), _traced(hooks, None)) for _ in range(pairs)]
            seconds[hooks] = timed
    ratios = [above / below for above, below in seconds[100]]
    each = {
        hooks: statistics.median(above - below for above, below in timed) / hooks
        for hooks, timed in seconds.items()
    }
    detail = {"each hook": each, "1000 against 100": each[1000] / each[100]}
    return Row("tracing", statistics.median(ratios), min(ratios), max(ratios), 1.5, detail)


def peak_memory() -> Row:
    """Peak memory of training with hooks against training without."""
    hooked, unhooked = memory.peaks(5)
    ratios = [above / below for above, below in zip(hooked, unhooked, strict=True)]
    detail = {"hooked": statistics.median(hooked), "unhooked": statistics.median(unhooked)}
    return Row("memory", statistics.median(ratios), min(ratios), max(ratios), 1.02, detail)


ROWS: dict[str, Callable[[], Row]] = {
    "operations": operations,
    "step-by-hand": step_by_hand,
    "step-ast": functools.partial(step, "ast", 1.08),
    "step-sot": functools.partial(step, "sot", 1.08),
    "step-sot-as-it-is": functools.partial(step, "sot", None, is_enabled=False),
    "step-eager": functools.partial(step, "eager", None),
    "callback": callback,
    "tracing": tracing,
    "memory": peak_memory,
}


@static_hooks.callback
def _called(gradient: Any) -> None:
    """Do nothing, in Python."""


def _net(mode: str, hook: Hook | None) -> Any:
    net = Unhooked() if hook is None else Net(hook)
    return net if mode == "eager" else paddle.jit.to_static(net, full_graph=mode == "ast")


def _traced(layers: int, hook: Hook | None) -> float:
    """Time the first step of a new net, which traces it."""
    net = paddle.jit.to_static(Net(hook, layers, width=4), full_graph=True)
    first = training_step(net, batch(width=4))
    start = time.perf_counter()
    first()
    return time.perf_counter() - start


def _timed(name: str, found: Ratio, budget: float | None, **detail: Any) -> Row:
    figures: Sequence[float] = (found.median, found.low, found.high)
    seconds = {"seconds": found.seconds, "pairs": found.pairs}
    return Row(name, *figures, budget, {**seconds, **detail})
