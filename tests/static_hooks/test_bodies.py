"""A body is traced only when it can't do anything else than tensor operations."""

import builtins
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812 - as everyone names it
import pytest
from paddle.static import InputSpec
from static_hooks import ForcedTraceError, bodies, callback, compare, explain, traced
from static_hooks.source import BoundArguments

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
    pytest.mark.filterwarnings("ignore:Find variable"),  # Paddle's advice against `log.append`
]

X = [1.0, 0.5]
limit = 2.0
module = types.ModuleType("not_paddle")


def several_statements(g: paddle.Tensor) -> paddle.Tensor:
    """Compute in straight-line code with local names."""
    a = g * 2
    b, c = a + 1, -a
    return b * c - a


def only_a_docstring(g: paddle.Tensor) -> None:
    """Return None."""


class Holder:
    """Has a method that reads its state and one that does not."""

    factor = 2.0

    def stateless(self, g: paddle.Tensor) -> paddle.Tensor:
        """Square."""
        return g * g

    def stateful(self, g: paddle.Tensor) -> paddle.Tensor:
        """Scale."""
        return g * self.factor

    def __call__(self, g: paddle.Tensor) -> paddle.Tensor:
        """Square."""
        return g * g


def made(k: Any) -> Callable[..., Any]:
    """Return a hook over a variable that nobody else can reach."""
    return lambda g: g * k


@pytest.mark.parametrize(
    "hook",
    [
        lambda g: g,
        lambda g: None,
        lambda g: g * g,
        lambda g: 3 * g + 1,
        lambda g: -g / 2 - g**3,
        lambda g: g % 3 // 2,
        lambda g: g @ g.T,
        lambda g: paddle.clip(g, -1.0, 1.0),
        lambda g: g.clip(min=-1.0, max=1.0),
        lambda g: paddle.where(g > 0, g, -g),
        lambda g: g * (g > 1).astype("float32"),
        lambda g: g[0:1] * g,
        lambda g: g.astype(paddle.float32),
        lambda g: F.softmax(g, axis=-1),
        lambda g: paddle.nn.functional.relu(g),
        lambda g: g / paddle.linalg.norm(g),
        lambda g: paddle.concat([g[:1], g[1:] * 2]),
        lambda g, k=2.0: g * k,
        several_statements,
        only_a_docstring,
        Holder().stateless,
        made(2.0),
        made("a string"),
        made((1, 2.0)),
        made(paddle),
    ],
)
def test_traced(hook: Callable[..., Any]) -> None:
    """Tensor operations alone are traced, in every Python alike."""
    assert bodies.Decision(True, "tensor operations alone") == bodies.decide(hook)


def with_branch(g: paddle.Tensor) -> paddle.Tensor:
    """Branch on the value."""
    return g * 10 if g.sum() > 1 else g


def with_loop(g: paddle.Tensor) -> paddle.Tensor:
    """Loop."""
    for _ in range(2):
        g = g * g
    return g


def with_try(g: paddle.Tensor) -> paddle.Tensor:
    """Catch what a call raises."""
    try:
        return g * g
    except ValueError:
        return g


def with_context(g: paddle.Tensor) -> paddle.Tensor:
    """Enter a context."""
    with paddle.no_grad():
        return g * g


def with_import(g: paddle.Tensor) -> paddle.Tensor:
    """Import in the body."""
    import paddle as p

    return p.tanh(g)


def with_assert(g: paddle.Tensor) -> paddle.Tensor:
    """Assert on the gradient."""
    assert g is not None
    return g


def with_item_assignment(g: paddle.Tensor) -> paddle.Tensor:
    """Write into the gradient."""
    g[0] = 7.0
    return g


def with_inner_function(g: paddle.Tensor) -> paddle.Tensor:
    """Call a function of its own."""
    return (lambda: g * g)()


def with_global_write(g: paddle.Tensor) -> None:
    """Write a global."""
    global limit
    limit = 3.0


def in_place(g: paddle.Tensor) -> paddle.Tensor:
    """Change the gradient in place."""
    g *= 2
    return g


def generator(g: paddle.Tensor) -> Any:
    """Yield the gradient."""
    yield g


async def coroutine(g: paddle.Tensor) -> paddle.Tensor:
    """Be awaited."""
    return g


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        (lambda g: g.numpy(), "it uses 'numpy', which is not known to be a tensor operation"),
        (lambda g: g.item(), "it uses 'item', which is not known to be a tensor operation"),
        (lambda g: g.shape, "it uses 'shape', which is not known to be a tensor operation"),
        (lambda g: g.scale_(2.0), "it uses 'scale_', which is not known to be a tensor operation"),
        (lambda g: g.register_hook(abs), "it uses 'register_hook', which is not known"),
        (lambda g: paddle.rand([2]) * g, "it uses 'rand', which is not known"),
        (lambda g: paddle.grad(g, g), "it uses 'grad', which is not known"),
        (lambda g: F.dropout(g), "it uses 'dropout', which is not known"),
        (lambda g: float(g), "it reads the global 'float', which may change between steps"),
        (
            lambda g: breakpoint(g),
            "it reads the global 'breakpoint', which may",
        ),
        (lambda g: g * limit, "it reads the global 'limit', which may change between steps"),
        (lambda g: np.tanh(g), "it reads the global 'np', which may change between steps"),
        (lambda g: module.tanh(g), "it reads the global 'module', which may change between steps"),
        (lambda g: several_statements(g), "it reads the global 'several_statements'"),
        (lambda g: paddle.add(g, g, out=g), "it may write into a tensor (out=)"),
        (lambda g: g if g is None else g * g, "it is not straight-line code ("),
        (lambda g: [v * v for v in g], "it is not straight-line code ("),
        (lambda g: f"{g}", "it is not straight-line code ("),
        (lambda g: paddle.clip(*[g]), "it is not straight-line code ("),
        (with_branch, "it is not straight-line code ("),
        (with_loop, "it reads the global 'range'"),
        (with_try, "it is not straight-line code ("),
        (with_context, "it uses 'no_grad'"),
        (with_import, "it is not straight-line code (import_name)"),
        (with_assert, "it is not straight-line code ("),
        (with_item_assignment, "it is not straight-line code (store_subscr)"),
        (with_inner_function, "it is not straight-line code ("),
        (with_global_write, "it is not straight-line code (store_global)"),
        (generator, "it is a generator or a coroutine"),
        (coroutine, "it is a generator or a coroutine"),
        (Holder().stateful, "it reads state of 'self', which may change between steps"),
        (Holder(), "its code can't be read (Holder)"),
        (abs, "its code can't be read (builtin_function_or_method)"),
        (functools.lru_cache(in_place), "its code can't be read (_lru_cache_wrapper)"),
        (types.MethodType(Holder(), 3), "its code can't be read (Holder)"),
        (lambda g, k=[1]: g, "its default list may change between steps"),
        (made([1]), "its free variable 'k' (list) may change between steps"),
        (made(np.float32(2)), "its free variable 'k' (float32) may change between steps"),
        (made(Holder()), "its free variable 'k' (Holder) may change between steps"),
        (BoundArguments(made(1.0), [[2]]), "its argument list may change between steps"),
    ],
)
def test_called_back(hook: Callable[..., Any], reason: str) -> None:
    """Whatever else a body does, it is called back, and the reason says what it does."""
    decision = bodies.decide(hook)
    assert not decision.traced
    assert decision.reason.startswith(reason)


def test_in_place_operators() -> None:
    """An operator that may change the gradient in place is called back."""
    assert not bodies.decide(in_place).traced


def test_method_without_parameters() -> None:
    """A method that takes no argument is decided upon like any hook; it fails when it is called."""
    assert bodies.decide(types.MethodType(lambda: None, 3)).traced


def test_shared_variable() -> None:
    """A number in a variable that another function can still rebind may change."""

    def pair(k: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
        def rebind() -> None:
            nonlocal k
            k += 1

        return (lambda g: g * k), rebind

    hook, _ = pair(2.0)
    assert "its free variable 'k' (float) may change between steps" == bodies.decide(hook).reason


def test_variable_of_a_running_frame() -> None:
    """A number in a variable of a frame that still runs may change."""
    k = 2.0
    hook = lambda g: g * k  # noqa: E731 - the cell is what matters
    assert "its free variable 'k' (float) may change between steps" == bodies.decide(hook).reason


def test_unassigned_variable() -> None:
    """A free variable that is not assigned yet is read when the body runs."""

    def early() -> bodies.Decision:
        decision = bodies.decide(lambda g: g * k)  # noqa: F821 - so the test wants it
        k = 2.0
        del k
        return decision

    assert "its free variable 'k' is not assigned yet" == early().reason


def test_variable_of_the_traced_function() -> None:
    """A number of the traced function can't change, unless a nested function rebinds it."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        fixed, counted = 2.0, 0.0

        def count(g: paddle.Tensor) -> None:
            nonlocal counted
            counted += 1

        y = 2 * x
        y.register_hook(lambda g: g * fixed)
        y.register_hook(lambda g: g * counted)
        y.register_hook(count)
        return y

    rows = explain(forward, paddle.to_tensor(X, stop_gradient=False))
    assert ["traced", "callback", "callback"] == [row.runs for row in rows]
    assert "its free variable 'counted' (float) may change between steps" == rows[1].reason


def test_variable_from_outside() -> None:
    """A number from outside the traced function is read when backward runs."""
    k = 2.0

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(lambda g: g * g * k)
        return y * y

    static = paddle.jit.to_static(forward, full_graph=True)
    found = []
    for value in (1.0, 3.0):
        k = value
        x = paddle.to_tensor([1.0], stop_gradient=False)
        static(x).sum().backward()
        found.append(x.grad.tolist())
    assert [[32.0], [96.0]] == found


def test_operation_in_a_variable() -> None:
    """An operation of Paddle's in a variable from outside is looked up when backward runs."""
    operation = paddle.clip

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(lambda g: operation(g, 1.0, 3.0))
        return y * y

    static = paddle.jit.to_static(forward, full_graph=True)
    found = []
    for operation in (paddle.clip, lambda g, low, high: g * high):  # noqa: B007 - the hook reads it
        x = paddle.to_tensor([1.0], stop_gradient=False)
        static(x).sum().backward()
        found.append(x.grad.tolist())
    assert [[6.0], [24.0]] == found


def test_forced_callback() -> None:
    """`@callback` runs a body in Python that could have been traced."""
    hook = callback(several_statements)
    try:
        assert bodies.Decision(False, "marked @callback") == bodies.decide(hook)
    finally:
        del several_statements.__dict__["__static_hooks_body__"]


def test_forced_trace() -> None:
    """`@traced` says so where the body can be traced."""
    assert bodies.Decision(True, "marked @traced") == bodies.decide(traced(lambda g: g * g))


@pytest.mark.parametrize("hook", [lambda g: breakpoint(g), with_branch, generator])
def test_traced_with_effects(hook: Callable[..., Any]) -> None:
    """`@traced` on a body with effects is refused when it is registered, with the reason."""
    marked = traced(types.FunctionType(hook.__code__, hook.__globals__, hook.__name__))
    with pytest.raises(ForcedTraceError) as caught:
        bodies.decide(marked)
    start, _, reason = str(caught.value).partition(", but it ")
    assert f"@traced hook {marked.__qualname__!r} must be tensor operations alone" == start
    assert reason.endswith("; take @traced off, and the hook is called back at every backward")


def test_traced_with_effects_at_registration() -> None:
    """The refusal of a `@traced` body reaches the caller of the function that registers it."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(traced(lambda g: breakpoint(g)))
        return y

    with pytest.raises(ForcedTraceError, match="must be tensor operations alone"):
        paddle.jit.to_static(forward, full_graph=True)(paddle.to_tensor(X, stop_gradient=False))


def test_traced_with_state() -> None:
    """`@traced` over state that may change is refused when tracing is over."""
    state = [2.0]

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(traced(lambda g: g * state[0]))
        return y

    with pytest.raises(
        ForcedTraceError, match=r"but its free variable 'state' \(list\) may change"
    ):
        paddle.jit.to_static(forward, full_graph=True)(paddle.to_tensor(X, stop_gradient=False))


def test_names() -> None:
    """A hook has its qualified name, a partial its function's, an object its type's."""
    assert "several_statements" == bodies.name_of(several_statements)
    assert "Holder.stateful" == bodies.name_of(Holder().stateful)
    assert "Holder" == bodies.name_of(Holder())
    assert "Holder.stateful" == bodies.name_of(BoundArguments(Holder.stateful, [Holder()]))
    assert "abs" == bodies.name_of(builtins.abs)


def dynamic(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Return a static function with `hook` on an intermediate whose first dimension is dynamic."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(hook)
        return y * y

    spec = InputSpec([None, 2], "float32", stop_gradient=False)
    return paddle.jit.to_static(forward, full_graph=True, input_spec=[spec])


def test_dynamic_shape() -> None:
    """A body that keeps the shape is traced with a dynamic dimension, and right for each size."""
    static = dynamic(lambda g: g * g)
    found = []
    for values in ([[1.0, 0.5]], [[1.0, 0.5], [2.0, 3.0]]):
        x = paddle.to_tensor(values, stop_gradient=False)
        static(x).sum().backward()
        found.append(x.grad.tolist())
    assert [[[32.0, 8.0]], [[32.0, 8.0], [128.0, 288.0]]] == found


@pytest.mark.parametrize(
    "hook",
    [lambda g: paddle.concat([g, g]), lambda g: g[g[:, 0] > 100], lambda g: g @ g.T @ g[:, :1]],
)
def test_dynamic_shape_that_may_change(hook: Callable[..., Any]) -> None:
    """With a dynamic dimension a body that may return another shape is called back and checked."""
    assert bodies.may_reshape(hook)
    x = paddle.to_tensor([[1.0, 0.5], [2.0, 3.0]], stop_gradient=False)
    loss = dynamic(hook)(x).sum()
    with pytest.raises(ValueError, match=r"must return a tensor of shape \[2, 2\], but got \["):
        loss.backward()


def test_tracing_that_fails() -> None:
    """A body that can't be traced after all is called back: its error comes from backward."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(lambda g: paddle.concat([g, g], axis=5))
        return y * y

    x = paddle.to_tensor(X, stop_gradient=False)
    loss = paddle.jit.to_static(forward, full_graph=True)(x).sum()
    with pytest.raises(ValueError, match="axis"):
        loss.backward()


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        (lambda g: g % 3 // 1, [2.0, 4.0]),
        (lambda g: -(g**3), [-128.0, -16.0]),
        (lambda g: 1 / g, [0.5, 1.0]),
        (lambda g: 2**g, [32.0, 8.0]),
        (lambda g: (g @ g) * g, [160.0, 80.0]),
        (lambda g: paddle.where(g > 3, g * g, g), [32.0, 4.0]),
        (lambda g: paddle.stack([g[1], g[0] * g[0]]), [4.0, 32.0]),
        (lambda g: g.roll(1), [4.0, 8.0]),
        (lambda g: g.detach() * g.clone(), [32.0, 8.0]),
        (lambda g: g * g.sum(), [48.0, 24.0]),
        (lambda g: g[None].squeeze(0) * g, [32.0, 8.0]),
        (lambda g: g * ((g > 1) & (g < 3)).astype("float32"), [0.0, 4.0]),
        (lambda g: paddle.topk(g, 2)[0] * g, [32.0, 8.0]),
        (lambda g: g.zeros_like(), [0.0, 0.0])
        if hasattr(paddle.Tensor, "zeros_like")
        else (lambda g: paddle.zeros_like(g), [0.0, 0.0]),
    ],
)
def test_traced_numbers(hook: Callable[..., Any], expected: list[float]) -> None:
    """A traced body gives eager's numbers, which are also worked out by hand."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(hook)
        return y * y

    assert bodies.decide(hook).traced
    report = compare(forward, X)
    assert () == report.differences
    assert expected == report.ast.gradients["x0"].tolist()
