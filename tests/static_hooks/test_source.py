"""A hook that AST conversion has rewritten is called back as the user wrote it."""

import functools
import gc
from collections.abc import Callable
from typing import Any

import paddle
import pytest
from static_hooks import callback, compare, explain, registration, source, traced

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
    pytest.mark.filterwarnings("ignore:Find variable"),  # Paddle's advice against `log.append`
]

X = [1.0, 0.5]
scale = 1.0


def trace(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Trace `function`; return its hooks as restored, in the order registered."""
    static = paddle.jit.to_static(function, full_graph=True)
    program, _ = static.get_concrete_program(paddle.to_tensor(X, stop_gradient=False))
    registry = registration.of(program.main_program)
    return [source.restore(entry.raw, entry.origin) for entry in registry.entries]


def test_untouched_hook() -> None:
    """A hook that no conversion touched comes back as the very object."""
    hook = functools.lru_cache(abs)
    assert hook is source.restore(hook)


def test_code_is_the_users() -> None:
    """The restored hook has the user's code, name and globals, not the converted ones."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        def square(g: paddle.Tensor) -> paddle.Tensor:
            return g * g if float(g.sum()) > 0 else g

        y = 2 * x
        y.register_hook(square)
        return y

    (hook,) = trace(forward)
    assert __file__ == hook.__code__.co_filename
    assert hook.__qualname__.endswith("forward.<locals>.square")
    assert globals() is hook.__globals__


def test_site_is_the_users_line() -> None:
    """A registration names the user's file and line, not those of the converted copy."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(lambda g: g)
        return y

    static = paddle.jit.to_static(forward, full_graph=True)
    program, _ = static.get_concrete_program(paddle.to_tensor(X, stop_gradient=False))
    (entry,) = registration.of(program.main_program).entries
    assert f"{__file__}:{forward.__code__.co_firstlineno + 2}" == entry.site


def lambdas_on_one_line(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Register lambdas that share a line, one of them with an `or` (conversion adds lambdas)."""
    y = 2 * x
    hooks = [lambda g: log.append(1), lambda g: log.append(2) or g * g, lambda g: log.append(3)]
    for hook in hooks:
        y.register_hook(hook)
    return y * y


def lambda_in_a_lambda(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Register what a lambda returned; two such on one line."""
    y = 2 * x
    y.register_hook((lambda k: lambda g: log.append(k) or g * k)(3))
    y.register_hook((lambda k: lambda g: log.append(k) or g * k)(5))
    return y * y


def nested_factories(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Register what a factory's factory made, twice from the same code."""
    y = 2 * x
    m = paddle.tanh(y)

    def outer(k: float) -> Any:
        def middle() -> Any:
            def inner(g: paddle.Tensor) -> paddle.Tensor:
                log.append(k)
                return g * m * k

            return inner

        return middle()

    y.register_hook(outer(3.0))
    y.register_hook(outer(2.0))
    return y * y


def effect_in_an_if(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Change an item in an `if` of the hook: conversion makes the variable the hook's own."""
    y = 2 * x
    count = {"big": 10}

    def hook(g: paddle.Tensor) -> paddle.Tensor:
        if float(g.sum()) > 1:
            count["big"] += 1
            log.append(count["big"])
        return g * g

    y.register_hook(hook)
    return y * y


def loop_in_a_hook(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Loop over a value and break, in Python, on real numbers."""

    def hook(g: paddle.Tensor) -> paddle.Tensor:
        while True:
            g = g * g
            log.append(float(g[0]))
            if float(g[0]) > 100:
                break
        return g

    y = 2 * x
    y.register_hook(hook)
    return y * y


def helper_beside_the_hook(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Call a function that is nested beside the hook and defined after it."""

    def hook(g: paddle.Tensor) -> paddle.Tensor:
        return helper(g) * g

    y = 2 * x
    m = paddle.exp(y)
    y.register_hook(hook)

    def helper(g: paddle.Tensor) -> paddle.Tensor:
        log.append(m.numpy().shape)
        return g * m

    return y * y


def mutual_recursion(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Register one of two functions that call each other."""
    y = 2 * x
    m = paddle.tanh(y)

    def even(g: paddle.Tensor, n: int = 3) -> paddle.Tensor:
        log.append(n)
        return g if n == 0 else odd(g * m, n - 1)

    def odd(g: paddle.Tensor, n: int) -> paddle.Tensor:
        return g + 1 if n == 0 else even(g * g, n - 1)

    y.register_hook(even)
    return y * y


def partial_of_nested(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Register partials, one of them of a partial, with a forward value among the arguments."""

    def hook(k: float, m: paddle.Tensor, g: paddle.Tensor, shift: float = 0.0) -> paddle.Tensor:
        log.append(k)
        return g * g * m * k + shift

    y = 2 * x
    m = paddle.tanh(y)
    y.register_hook(functools.partial(hook, 3.0, m, shift=1.0))
    y.register_hook(functools.partial(functools.partial(hook, 2.0), m))
    return y * y


def logged(log: list[Any]) -> Any:
    """Make a decorator that logs each call, with a branch on the value."""

    def decorator(function: Any) -> Any:
        def wrapper(g: paddle.Tensor) -> paddle.Tensor:
            log.append("called")
            return function(g) * 3 if float(g[0]) > 0 else g

        return wrapper

    return decorator


def decorated_hook(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Register a nested function that a decorator has wrapped."""

    @logged(log)
    @paddle.no_grad()
    def square(g: paddle.Tensor) -> paddle.Tensor:
        return g * g if float(g[0]) > 0 else g

    y = 2 * x
    y.register_hook(square)
    return y * y


class Scaler:
    """Has hooks of every kind of method."""

    def __init__(self) -> None:
        self.calls = 0

    def method(self, g: paddle.Tensor) -> paddle.Tensor:
        """Count the calls."""
        self.calls += 1
        return g * g * self.calls

    @classmethod
    def of_class(cls, g: paddle.Tensor) -> paddle.Tensor:
        """Cube, with a branch on the value."""
        return g * g * g if float(g[0]) > 0 else g

    @staticmethod
    def of_nobody(g: paddle.Tensor) -> paddle.Tensor:
        """Add one, with a branch on the value."""
        return g + 1 if float(g[0]) > 0 else g

    def __call__(self, g: paddle.Tensor) -> paddle.Tensor:
        """Scale by the number of calls."""
        return g * self.calls


def methods(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
    """Register a bound method, a class method, a static method and a callable object."""
    scaler = Scaler()
    y = 2 * x
    y.register_hook(scaler.method)
    y.register_hook(Scaler.of_class)
    y.register_hook(scaler.of_nobody)
    y.register_hook(scaler)
    return y * y


def scaling(
    k: float,
    before: Any = lambda g: g * g if float(g[0]) > 0 else g,
    *,
    after: Any = lambda g: g + 1,
) -> Any:
    """Make a hook of functions that are the defaults of parameters."""
    return lambda g: after(before(g)) * k


def default_of_a_parameter(
    x: paddle.Tensor, log: list[Any], *, hook: Any = lambda g: g * g if float(g[0]) > 0 else g
) -> paddle.Tensor:
    """Register the default of a parameter, and a hook that calls such defaults."""
    y = 2 * x
    y.register_hook(hook)
    y.register_hook(scaling(3.0))
    return y * y


@pytest.mark.parametrize(
    ("function", "expected", "log"),
    [
        (lambdas_on_one_line, [32.0, 8.0], [1, 2, 3]),
        (lambda_in_a_lambda, [120.0, 60.0], [3, 5]),
        (effect_in_an_if, [32.0, 8.0], [11]),
        (loop_in_a_hook, [512.0, 32.0], [16.0, 256.0]),
        (methods, [8194.0, 130.0], []),
        (decorated_hook, [96.0, 24.0], ["called"]),
        (default_of_a_parameter, [1542.0, 102.0], []),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_as_written(function: Any, expected: list[float], log: list[Any]) -> None:
    """A converted hook computes and logs what eager mode does, and what was worked out by hand."""
    report = compare(function, X)
    assert () == report.differences
    assert expected == report.ast.gradients["x0"].tolist()
    assert log == report.ast.log


@pytest.mark.parametrize(
    ("function", "log"),
    [
        (nested_factories, [3.0, 2.0, 3.0, 2.0]),
        (helper_beside_the_hook, [(2,), (2,)]),
        (mutual_recursion, [3, 1, 3, 1]),
        (partial_of_nested, [3.0, 2.0, 3.0, 2.0]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_as_eager(function: Any, log: list[Any]) -> None:
    """Over two steps a converted hook does what eager mode does, its log included."""
    report = compare(function, X, rounds=2)
    assert () == report.differences
    assert log == report.ast.log


def test_declared_in_the_function() -> None:
    """`@callback` and `@traced` on a hook nested in the traced function are heeded."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        @callback
        def observed(g: paddle.Tensor) -> paddle.Tensor:
            return g * g

        @traced
        def fused(g: paddle.Tensor) -> paddle.Tensor:
            return g * g

        y = 2 * x
        y.register_hook(observed)
        y.register_hook(fused)
        return y

    rows = explain(forward, paddle.to_tensor(X, stop_gradient=False))
    assert ["marked @callback", "marked @traced"] == [row.reason for row in rows]


def test_decorated_once() -> None:
    """A nested function is decorated when it is defined, whether a hook or not."""
    times: list[str] = []

    def counted(function: Any) -> Any:
        times.append(function.__name__)
        return function

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        @counted
        def square(g: paddle.Tensor) -> paddle.Tensor:
            return g * g

        return square(square(x))

    static = paddle.jit.to_static(forward, full_graph=True)
    assert [1.0, 0.0625] == static(paddle.to_tensor(X)).tolist()
    assert ["square"] == times


def test_globals_are_live() -> None:
    """A global that the body reads is the module's own, as it is when backward runs."""
    global scale

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(lambda g: g * g * scale)
        return y * y

    static = paddle.jit.to_static(forward, full_graph=True)
    found = []
    for value in (1.0, 2.0, 5.0):
        scale = value
        x = paddle.to_tensor([1.0], stop_gradient=False)
        static(x).sum().backward()
        found.append(x.grad.tolist())
    assert [[32.0], [64.0], [160.0]] == found


def test_outer_variable_in_an_if() -> None:
    """A counter outside `forward` that the hook changes in an `if` is the caller's own."""
    counter = [0]

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        def hook(g: paddle.Tensor) -> paddle.Tensor:
            if float(g.sum()) > 1:
                counter[0] += 1
            return g * counter[0]

        y = 2 * x
        y.register_hook(hook)
        return y * y

    static = paddle.jit.to_static(forward, full_graph=True)
    found = []
    for _ in range(3):
        x = paddle.to_tensor([1.0], stop_gradient=False)
        static(x).sum().backward()
        found.append(x.grad.tolist())
    assert [[8.0], [16.0], [24.0]] == found
    assert [3] == counter


def test_deleted_variable() -> None:
    """A free variable that is gone when backward runs is a NameError, as in any Python code."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        factor = 3.0
        y.register_hook(lambda g: g * factor)  # noqa: F821 - gone, as the test wants it
        del factor
        return y * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    loss = paddle.jit.to_static(forward, full_graph=True)(x).sum()
    with pytest.raises(NameError, match="factor"):
        loss.backward()


def test_conversions_are_forgotten() -> None:
    """Dropping a converted function drops what was remembered of its conversion."""
    gc.collect()
    before = set(source._CONVERSIONS)

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(lambda g: g * g)
        return y

    hooks = trace(forward)
    assert 1 == len(set(source._CONVERSIONS) - before)
    del hooks
    del forward
    gc.collect()
    assert before == set(source._CONVERSIONS)
