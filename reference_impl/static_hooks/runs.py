"""Run a function in one mode, from a fresh state.

Numbers, the function's own log and errors come from an unobserved run; the hook calls come from a
second one, so that watching changes nothing of what the first measured.
"""

from __future__ import annotations

import copy
import functools
import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import paddle
from paddle.jit.sot.infer_meta import InferMetaCache
from paddle.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache
from paddle.jit.sot.symbolic.compile_cache import CompileSIRCache
from paddle.jit.sot.utils.envs import ENV_MIN_GRAPH_SIZE, ENV_SOT_COLLECT_INFO
from paddle.jit.sot.utils.info_collector import InfoCollector, InfoType
from paddle.utils.environments import EnvironmentVariableGuard

from .records import Array, Call, Run, array_of, dtype_of, observed

BREAKS: dict[str, list[str]] = {"breakgraph_reason": []}
MODES = ("eager", "ast", "sot", "program")


class _Record:
    """A list as far as a hook cares: tracing copies lists, and appending to the copy is lost."""

    def __init__(self) -> None:
        self._items: list[Any] = []
        self.append, self.extend = self._items.append, self._items.extend

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __getitem__(self, index: int) -> Any:
        return self._items[index]


def argument(value: Any) -> Callable[[], Any]:
    """Return a maker of fresh copies of one input."""
    if isinstance(value, list):
        value = paddle.to_tensor(value)
    if not isinstance(value, (paddle.Tensor, np.ndarray)):
        return lambda: copy.deepcopy(value)
    kept = Array(value, str(value.dtype)) if isinstance(value, np.ndarray) else array_of(value)
    dtype: Any = kept.dtype
    integral = kept.values.dtype.kind != "f"
    return lambda: paddle.to_tensor(kept.values, dtype=dtype, stop_gradient=integral)


class Runner:
    """Runs one function in one mode."""

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: list[Callable[[], Any]],
        mode: str,
        rounds: int,
        seed: int,
    ) -> None:
        self.function, self.arguments, self.mode = function, arguments, mode
        self.rounds, self.seed = rounds, seed

    def __call__(self) -> Run:
        """Run the function, then again to watch its hooks."""
        calls: list[Call] = []
        with self._counted() as graphs:
            found = self._once()
        with self._counted(), observed(calls, static=self.mode != "eager"):
            watched = self._once().get("error")
        if "error" not in found and watched:
            # Watching calls back, and a callback that has to be differentiated is refused.
            if not watched.startswith("UnsupportedHookError"):
                found["error"] = f"while watched: {watched}"
            found["calls"] = None
        return Run(self.mode, **{"calls": calls, **found, **graphs})

    def _counted(self) -> AbstractContextManager[dict[str, Any]]:
        return compiling() if self.mode == "sot" else nullcontext({})

    def _once(self) -> dict[str, Any]:
        """Run all rounds from a fresh state."""
        found: dict[str, Any] = {"outputs": (), "gradients": {}, "log": []}
        state = paddle.get_rng_state()
        try:
            paddle.seed(self.seed)
            (self._program if self.mode == "program" else self._called)(found)
        except Exception as error:  # whatever the function raises is a result
            found["error"] = told(error)
        finally:
            paddle.set_rng_state(state)
        found["log"] = list(found["log"])
        return found

    def _fresh(self, found: dict[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
        """Return the function with a state of its own, and its `log` where it has one."""
        function = self.function
        if isinstance(function, paddle.nn.Layer):
            function = copy.deepcopy(function)
        elif isinstance(function, type) or (
            self.arguments and not inspect.signature(function).parameters
        ):
            function = function()
        called = function.forward if isinstance(function, paddle.nn.Layer) else function
        if "log" not in inspect.signature(called).parameters:
            return function, {}
        found["log"] = _Record() if self.mode == "ast" else []
        return function, {"log": found["log"]}

    def _called(self, found: dict[str, Any]) -> None:
        function, log = self._fresh(found)
        leaves = function.named_parameters() if isinstance(function, paddle.nn.Layer) else ()
        inputs = [make() for make in self.arguments]
        named = {f"x{i}": x for i, x in enumerate(inputs) if isinstance(x, paddle.Tensor)}
        named = {name: leaf for name, leaf in [*named.items(), *leaves] if not leaf.stop_gradient}
        if self.mode != "eager":
            function = paddle.jit.to_static(function, full_graph=self.mode == "ast")
        for _ in range(self.rounds):
            outputs = _tensors(function(*inputs, **log), paddle.Tensor)
            loss = _loss(outputs)
            if loss is not None and not loss.stop_gradient:
                loss.backward()
        found["outputs"] = tuple(array_of(output) for output in outputs)
        found["gradients"] = {
            name: None if leaf.grad is None else array_of(leaf.grad) for name, leaf in named.items()
        }

    def _program(self, found: dict[str, Any]) -> None:
        arguments = [make() for make in self.arguments]
        eager = {f"x{i}": x for i, x in enumerate(arguments) if isinstance(x, paddle.Tensor)}
        with _static_graph():
            data = {name: _data(name, x) for name, x in eager.items()}
            inputs = [data.get(f"x{i}", argument) for i, argument in enumerate(arguments)]
            function, log = self._fresh(found)
            outputs = _tensors(function(*inputs, **log), paddle.pir.Value)
            leaves = {name: x for name, x in data.items() if not x.stop_gradient}
            gradients = paddle.static.gradients([_loss(outputs)], list(leaves.values()))
            named = {name: g for name, g in zip(leaves, gradients, strict=True) if g is not None}
            executor = paddle.static.Executor()
            feed = {name: x.numpy() for name, x in eager.items()}
            fetch = [*outputs, *named.values()]
            rounds = [executor.run(feed=feed, fetch_list=fetch) for _ in range(self.rounds)]
        fetched = [
            [
                _fetched(values, dtype_of(value))
                for values, value in zip(of_round, fetch, strict=True)
            ]
            for of_round in rounds
        ]
        found["outputs"] = tuple(fetched[-1][: len(outputs)])
        sums = dict(zip(named, map(_sum, *(row[len(outputs) :] for row in fetched)), strict=True))
        found["gradients"] = {name: sums.get(name) for name in leaves}


def _fetched(values: np.ndarray[Any, Any], dtype: str) -> Array:
    if dtype == "bfloat16":  # fetched as its bits, the upper half of a float32
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return Array(values, dtype)


def _sum(*rounds: Array) -> Array:
    return Array(np.sum([array.values for array in rounds], axis=0), rounds[0].dtype)


def _data(name: str, like: paddle.Tensor) -> paddle.pir.Value:
    value = paddle.static.data(name, like.shape, like.dtype)
    value.stop_gradient = like.stop_gradient
    return value


def _tensors(outputs: Any, kind: type) -> list[Any]:
    return [output for output in paddle.utils.flatten(outputs) if isinstance(output, kind)]


def _loss(outputs: Sequence[Any]) -> Any:
    """Add up the floating-point outputs, in float32."""
    sums = [x.sum().astype("float32") for x in outputs if paddle.is_floating_point(x)]
    return functools.reduce(operator.add, sums) if sums else None


def told(error: Exception) -> str:
    """Return type and first line; of an error in converted code, the line of the error itself."""
    kind = type(error).__name__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    of_conversion = [line for line in lines if line.startswith(f"{kind}: ")]
    return of_conversion[0] if of_conversion else f"{kind}: {lines[0]}"


@contextmanager
def _static_graph() -> Iterator[None]:
    """Enter an empty static graph with a scope of its own."""
    paddle.enable_static()
    try:
        with (
            paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()),
            paddle.static.scope_guard(paddle.static.Scope()),
        ):
            yield
    finally:
        paddle.disable_static()


@contextmanager
def compiling() -> Iterator[dict[str, Any]]:
    """Let SOT compile frames of any size, from empty caches, and count graphs and breaks."""
    collected = InfoCollector().get_info_dict(InfoType.E2E_INFO)
    users = collected.pop("BreakGraphReasonInfo", None)
    counts = {"graphs": 0, "breaks": 0}
    # The last one takes nested lists of the same numbers for one another, whatever their shape.
    caches: tuple[Any, ...] = (OpcodeExecutorCache(), CompileSIRCache(), InferMetaCache())
    for cache in caches:
        cache.clear()
    with (
        EnvironmentVariableGuard(ENV_MIN_GRAPH_SIZE, 0),
        EnvironmentVariableGuard(ENV_SOT_COLLECT_INFO, BREAKS),
    ):
        try:
            yield counts
        finally:
            breaks = collected.pop("BreakGraphReasonInfo", [])
            counts.update(graphs=len(CompileSIRCache().cache), breaks=len(breaks))
            if users is not None:  # SOT prints at exit what it finds here
                collected["BreakGraphReasonInfo"] = users
