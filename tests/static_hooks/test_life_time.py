"""Nothing that a hooked function made outlives the function: no hook, closure, program or tensor.

Unhooked tracing itself grows memory in Paddle, so what counts here is which objects are alive.
"""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import paddle
import pytest
from static_hooks import callbacks, registration, source

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
    pytest.mark.filterwarnings("ignore:Find variable"),  # Paddle's advice against `log.append`
]

TRACES = 1000


class Kept:
    """Something that a hook holds, so that its life can be watched."""

    def __call__(self, g: paddle.Tensor) -> paddle.Tensor:
        """Be a hook that is called back."""
        return g * g


def traced(kept: Kept) -> Callable[..., Any]:
    """A hook that becomes operations, with a captured value; the function holds the object."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        m = paddle.tanh(y)
        y.register_hook(lambda g: g * m)
        return y * y if kept else y

    return forward


def called_back(kept: Kept) -> Callable[..., Any]:
    """A nested hook with effects, captured values, and the object in its closure."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        values = [paddle.tanh(y)]

        def hook(g: paddle.Tensor) -> paddle.Tensor:
            return kept(g) * values[0] if float(g.sum()) > 0 else g

        y.register_hook(hook)
        return y * y

    return forward


def the_hook_itself(kept: Kept) -> Callable[..., Any]:
    """The object is the hook."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(kept)
        return y * y

    return forward


def on_the_input(kept: Kept) -> Callable[..., Any]:
    """A hook on the caller's tensor, with a captured value."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        x.register_hook(lambda g: kept(g) * y)
        return y * y

    return forward


def kept_handle(kept: Kept) -> Callable[..., Any]:
    """A handle that the function's own attribute keeps."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        handles.append(y.register_hook(kept))
        return y * y

    handles: list[Any] = []
    return forward


def in_a_branch(kept: Kept) -> Callable[..., Any]:
    """A hook registered in a branch on a tensor from outside."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        if y.sum() > 0:
            y.register_hook(kept)
        return y * y

    return forward


def several_results(kept: Kept) -> Callable[..., Any]:
    """A hook that not all results lead to."""

    def forward(x: paddle.Tensor) -> tuple[paddle.Tensor, paddle.Tensor]:
        y, z = 2 * x, 3 * x
        y.register_hook(kept)
        return y * y, z * z

    return forward


def raising(kept: Kept) -> Callable[..., Any]:
    """A hook that raises."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(lambda g: kept(g) * (1 / 0))
        return y * y

    return forward


KINDS = [
    traced,
    called_back,
    the_hook_itself,
    on_the_input,
    kept_handle,
    in_a_branch,
    several_results,
    raising,
]


def trace_and_run(make: Callable[[Kept], Callable[..., Any]]) -> list[weakref.ref[Any]]:
    """Trace a function, run a step, and drop it; return references to what it had."""
    kept = Kept()
    forward = make(kept)
    static = paddle.jit.to_static(forward, full_graph=True)
    x = paddle.to_tensor([1.0], stop_gradient=False)
    result = static(x)
    loss = (result[0] if isinstance(result, tuple) else result).sum()
    try:
        loss.backward()
    except ZeroDivisionError as error:
        error.__traceback__ = None
    concrete, layer = static.get_concrete_program(x)
    registry = registration.of(concrete.main_program)
    assert registry is not None
    return [
        weakref.ref(found)
        for found in (kept, forward, x, layer, registry, *registry.entries, concrete.main_program)
    ]


def alive(references: list[weakref.ref[Any]]) -> list[str]:
    """Name the types of what is still alive."""
    gc.collect()
    return [type(found).__name__ for found in (ref() for ref in references) if found is not None]


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_dropped_with_the_function(make: Callable[[Kept], Callable[..., Any]]) -> None:
    """When the function is gone, so are its hooks, closures, programs and tensors."""
    references = [reference for _ in range(3) for reference in trace_and_run(make)]
    assert [] == alive(references)


def test_a_thousand_traces() -> None:
    """After a thousand traces of hooked functions nothing of them is alive."""
    gc.collect()
    before = len(callbacks._LIVE), len(source._CONVERSIONS)
    references: list[weakref.ref[Any]] = []
    for index in range(TRACES):
        references += trace_and_run(KINDS[index % len(KINDS)])
        if index % 100 == 99:
            gc.collect()
            paddle.base.core.clear_executor_cache()  # or ten thousand threads wait for nothing
    assert [] == alive(references)
    assert before == (len(callbacks._LIVE), len(source._CONVERSIONS))


def test_steps_keep_nothing() -> None:
    """A hundred steps of one function keep no tensor and no captured value of an earlier step."""
    seen: list[weakref.ref[paddle.Tensor]] = []

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        m = paddle.tanh(y)

        def hook(g: paddle.Tensor) -> paddle.Tensor:
            seen.extend([weakref.ref(g), weakref.ref(m)])
            return g * m

        y.register_hook(hook)
        x.register_hook(hook)
        return y * y

    static = paddle.jit.to_static(forward, full_graph=True)
    for _ in range(100):
        x = paddle.to_tensor([1.0], stop_gradient=False)
        static(x).sum().backward()
    del x
    assert 400 == len(seen)
    assert [] == alive(seen)


def test_arguments_are_let_go() -> None:
    """A list passed to one call is let go when the next call's backward has run."""
    seen: list[weakref.ref[Any]] = []

    class Log(list):  # type: ignore[type-arg]
        """A list that can be referred to weakly."""

    def forward(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(lambda g: log.append(float(g[0])))
        return y * y

    static = paddle.jit.to_static(forward, full_graph=True)
    for _ in range(5):
        log = Log()
        static(paddle.to_tensor([1.0], stop_gradient=False), log).sum().backward()
        seen.append(weakref.ref(log))
    del log
    assert len(alive(seen)) <= 1


def test_removed_hooks_are_let_go() -> None:
    """A hook that was removed while tracing is let go with its handle."""
    references: list[weakref.ref[Any]] = []

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        kept = Kept()
        references.append(weakref.ref(kept))
        y.register_hook(kept).remove()
        return y * y

    static = paddle.jit.to_static(forward, full_graph=True)
    static(paddle.to_tensor([1.0], stop_gradient=False)).sum().backward()
    assert [] == alive(references)
