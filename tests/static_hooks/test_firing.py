"""A hook fires once, on the accumulated gradient, before any producer sees it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import paddle
import pytest
from static_hooks import UnsupportedHookError, compare

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
    pytest.mark.filterwarnings("ignore:Find variable"),  # Paddle's advice against `log.append`
    pytest.mark.filterwarnings("ignore:In static graph mode, add_"),
    pytest.mark.filterwarnings("ignore:paddle.grad has unsupported parameter in jit"),
]


def square(g: paddle.Tensor) -> paddle.Tensor:
    """Be a hook that is not linear."""
    return g * g


def two_uses(x: paddle.Tensor) -> paddle.Tensor:
    """The sum of both uses is squared: (3 + 4)² · 2."""
    y = 2 * x
    a = 3 * y
    y.register_hook(square)
    return a + 4 * y


def before_all_uses(x: paddle.Tensor) -> paddle.Tensor:
    """Registered before both uses."""
    y = 2 * x
    y.register_hook(square)
    return 3 * y + 4 * y


def after_all_uses(x: paddle.Tensor) -> paddle.Tensor:
    """Registered after both uses."""
    y = 2 * x
    z = 3 * y + 4 * y
    y.register_hook(square)
    return z


def inner_and_outer_uses(x: paddle.Tensor) -> tuple[paddle.Tensor, paddle.Tensor]:
    """Returned as well as used: (1 + 4)² · 2."""
    y = 2 * x
    y.register_hook(square)
    return y, 4 * y


def in_order(x: paddle.Tensor) -> paddle.Tensor:
    """Each on the result of the one before: ((5 + 1)² - 1) · 2."""
    y = 2 * x
    y.register_hook(lambda g: g + 1)
    y.register_hook(square)
    y.register_hook(lambda g: g - 1)
    return 5 * y


def twice(x: paddle.Tensor) -> paddle.Tensor:
    """The same function twice: 3⁴ · 2."""
    y = 2 * x
    y.register_hook(square)
    y.register_hook(square)
    return 3 * y


def chain(x: paddle.Tensor) -> paddle.Tensor:
    """Hooks along a chain: the outer one first: ((3² · 5)² · 2)."""
    y = 2 * x
    z = 5 * y
    y.register_hook(square)
    z.register_hook(square)
    return 3 * z


def sibling_untouched(x: paddle.Tensor) -> paddle.Tensor:
    """A hook changes what flows to its own producer: 1 · 9 · 2 + 5."""
    a, b = 2 * x, 5 * x
    a.register_hook(lambda g: g * 9)
    return a + b


def one_of_split(x: paddle.Tensor) -> paddle.Tensor:
    """One result of an operation with several: 4 · x for the first, squared for the second."""
    a, b = paddle.split(paddle.concat([2 * x, 2 * x]), 2)
    b.register_hook(square)
    return a * a + 3 * b


def unused_sibling(x: paddle.Tensor) -> paddle.Tensor:
    """The unused result of an operation with several gets zeros: (0 + 1) · 2 from it."""
    a, b = paddle.split(paddle.concat([2 * x, 2 * x]), 2)
    b.register_hook(lambda g: g + 1)
    return 3 * a


def both_results(x: paddle.Tensor) -> paddle.Tensor:
    """All results of an operation with several are hooked."""
    found = paddle.unbind(paddle.stack([2 * x, 3 * x]))
    for index, value in enumerate(found):
        value.register_hook(lambda g, index=index: g * g + index)
    return 2 * found[0] + 3 * found[1]


def under_a_new_name(x: paddle.Tensor) -> paddle.Tensor:
    """The name is bound to another tensor before the registration: (2z)² − 10 on z."""
    z = 3 * x
    x = z + 1
    out = x * x
    x.register_hook(lambda g: g * g - 10)
    return out


def in_a_python_loop(x: paddle.Tensor) -> paddle.Tensor:
    """Hooked at each turn of a loop: ((1² · 2)² · 2)² · 2."""
    for _ in range(3):
        x = 2 * x
        x.register_hook(square)
    return x


def in_place(x: paddle.Tensor) -> paddle.Tensor:
    """The old value of a tensor that is changed in place, and the new one."""
    y = 2 * x
    y.register_hook(square)
    y = y.add_(paddle.ones_like(y))
    y.register_hook(lambda g: g + 1)
    return y * y


def in_a_helper(x: paddle.Tensor) -> paddle.Tensor:
    """Registered by a nested function: 3² · 2."""
    y = 2 * x

    def helper() -> None:
        y.register_hook(square)

    helper()
    return 3 * y


def leaf_of_the_function(x: paddle.Tensor) -> paddle.Tensor:
    """A leaf made in the function has hooks too; it leads nowhere."""
    w = paddle.ones([1])
    w.stop_gradient = False
    w.register_hook(square)
    return 3 * w * x


def to_a_scalar(x: paddle.Tensor) -> paddle.Tensor:
    """A tensor without dimensions: 3² · 1."""
    y = x.sum()
    y.register_hook(square)
    return 3 * y


CASES = [
    (two_uses, 98.0),
    (before_all_uses, 98.0),
    (after_all_uses, 98.0),
    (inner_and_outer_uses, 50.0),
    (in_order, 70.0),
    (twice, 162.0),
    (chain, 4050.0),
    (sibling_untouched, 23.0),
    (one_of_split, 26.0),
    (unused_sibling, 8.0),
    (both_results, 38.0),
    (under_a_new_name, 162.0),
    (in_a_python_loop, 128.0),
    (in_place, 98.0),
    (in_a_helper, 18.0),
    (leaf_of_the_function, 3.0),
    (to_a_scalar, 9.0),
]
IDS = [function.__name__ for function, _ in CASES]


@pytest.mark.parametrize(("function", "expected"), CASES, ids=IDS)
def test_fires_where_eager_does(function: Callable[..., Any], expected: float) -> None:
    """Traced hooks give eager's gradient and calls, and the gradient worked out by hand."""
    report = compare(function, [1.0], rounds=2)
    assert () == report.differences
    assert [2 * expected] == report.ast.gradients["x0"].tolist()


OF_A_PROGRAM = [case for case in CASES if case[0] is not in_place]


@pytest.mark.parametrize(
    ("function", "expected"), OF_A_PROGRAM, ids=[f.__name__ for f, _ in OF_A_PROGRAM]
)
def test_in_a_program(function: Callable[..., Any], expected: float) -> None:
    """In a plain `paddle.static` program the hooks fire at the same places."""
    report = compare(function, [1.0], modes=("eager", "program"))
    assert () == report.differences
    assert [expected] == report.program.gradients["x0"].tolist()


def test_no_identity_is_left() -> None:
    """The backward has the operations of the bodies and no others."""

    def by_hand(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        return 3 * y + 4 * y

    counts = []
    for function in (before_all_uses, by_hand):
        static = paddle.jit.to_static(function, full_graph=True)
        x = paddle.to_tensor([1.0], stop_gradient=False)
        static(x)
        _, layer = static.get_concrete_program(x)
        ops = layer.train_program.program.global_block().ops
        counts.append([op.name() for op in ops])
    hooked, unhooked = counts
    assert "pd_op.multiply" in hooked
    assert "pd_op.multiply" not in unhooked
    assert 1 == len(hooked) - len(unhooked)


def test_nothing_without_a_gradient() -> None:
    """A tensor that no gradient reaches has no calls, and changes nothing."""

    def forward(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(lambda g: log.append("called") or g + 1)
        z = 3 * x
        z.register_hook(lambda g: log.append("detached") or g + 1)
        return x * x + z.detach()

    report = compare(forward, [1.0])
    assert () == report.differences
    assert [] == report.ast.log
    assert [2.0] == report.ast.gradients["x0"].tolist()


def test_inside_paddle_grad() -> None:
    """`paddle.grad` inside the function fires the hooks that are there by then."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(square)
        z = y * y
        (first,) = paddle.grad(z.sum(), x, retain_graph=True)
        y.register_hook(lambda g: g + 1)
        (second,) = paddle.grad(z.sum(), y, retain_graph=True)
        return z * first.detach() + second.detach()

    report = compare(forward, [1.0], rounds=2)
    assert () == report.differences


def test_effects_inside_paddle_grad() -> None:
    """A hook with effects runs for `paddle.grad` inside the function, and in backward again."""

    def forward(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(lambda g: log.append(g.tolist()))
        z = y * y
        (gradient,) = paddle.grad(z.sum(), x, retain_graph=True)
        return z * gradient.detach()

    report = compare(forward, [1.0], rounds=2)
    assert () == report.differences
    assert [[4.0], [32.0], [4.0], [32.0]] == report.ast.log


def test_differentiated_callback() -> None:
    """What a callback computed can't be differentiated again, and says so."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(lambda g: g * float(g.sum()))
        z = y * y
        (gradient,) = paddle.grad(z.sum(), x, retain_graph=True)
        return z + gradient

    x = paddle.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(UnsupportedHookError, match="must not be differentiated"):
        paddle.jit.to_static(forward, full_graph=True)(x)


def test_bodies_of_any_dtype() -> None:
    """Gradients come in the dtype of the hooked tensor, traced or called back."""

    def forward(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
        out = 0.0
        for dtype in ("bfloat16", "float32", "float64"):
            y = (2 * x).astype(dtype)
            y.register_hook(square)
            y.register_hook(lambda g: log.append(str(g.dtype)))
            out = out + (3 * y).astype("float32")
        return out

    report = compare(forward, [1.0])
    assert () == report.differences
    assert [54.0] == report.ast.gradients["x0"].tolist()
    assert {"paddle.bfloat16", "paddle.float32", "paddle.float64"} == set(report.ast.log)


def test_without_elements() -> None:
    """A gradient without elements passes through, traced or called back."""
    shapes: list[Any] = []

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(square)
        y.register_hook(lambda g: shapes.append(list(g.shape)))
        return 3 * y

    x = paddle.zeros([0, 3])
    x.stop_gradient = False
    paddle.jit.to_static(forward, full_graph=True)(x).sum().backward()
    assert [[0, 3]] == shapes
    assert [0, 3] == list(x.grad.shape)


@contextmanager
def program() -> Iterator[paddle.static.Program]:
    """Enter an empty static program with a scope of its own."""
    paddle.enable_static()
    main, startup = paddle.static.Program(), paddle.static.Program()
    try:
        with (
            paddle.static.program_guard(main, startup),
            paddle.static.scope_guard(paddle.static.Scope()),
        ):
            yield main
    finally:
        paddle.disable_static()


def data(name: str, shape: list[int]) -> Any:
    """Return an input that gradients flow to."""
    value = paddle.static.data(name, shape)
    value.stop_gradient = False
    return value


FEED = {"x": np.array([1.0, 0.5], "float32")}


def test_append_backward() -> None:
    """`append_backward` fires hooks on intermediates and on parameters of a program."""
    with program():
        x = data("x", [2])
        start = paddle.nn.initializer.Constant(2.0)
        weight = paddle.static.create_parameter([2], "float32", default_initializer=start)
        weight.register_hook(lambda g: g + 1)
        y = x * weight
        y.register_hook(square)
        pairs = paddle.static.append_backward((3 * y).sum())
        executor = paddle.static.Executor()
        executor.run(paddle.static.default_startup_program())
        (gradient,) = executor.run(feed=FEED, fetch_list=[pairs[0][1]])
    assert [10.0, 5.5] == gradient.tolist()


def test_minimize() -> None:
    """`minimize` trains with what the hooks make of the gradients, step by step."""
    seen: list[Any] = []
    with program():
        x = data("x", [2])
        start = paddle.nn.initializer.Constant(2.0)
        weight = paddle.static.create_parameter([2], "float32", default_initializer=start)
        y = x * weight
        y.register_hook(lambda g: seen.append(g.tolist()) or g * g)
        loss = (3 * y).sum()
        paddle.optimizer.SGD(0.1).minimize(loss)
        executor = paddle.static.Executor()
        executor.run(paddle.static.default_startup_program())
        values = [executor.run(feed=FEED, fetch_list=[loss, weight]) for _ in range(2)]
    assert [[3.0, 3.0], [3.0, 3.0]] == seen
    # weight - 0.1 * 9 * x, twice
    np.testing.assert_allclose([0.2, 1.1], values[1][1], rtol=1e-6)
    np.testing.assert_allclose([9.0, 5.625], [values[0][0], values[1][0]], rtol=1e-6)


def test_clone_of_a_program() -> None:
    """A clone made before or after the backward has the hooks, and outlives the original."""
    seen: list[Any] = []
    with program() as main:
        x = data("x", [2])
        y = 2 * x
        y.register_hook(lambda g: seen.append(g.tolist()) or g * g)
        loss = (3 * y).sum()
        before = main.clone()
        (gradient,) = paddle.static.gradients([loss], [x])
        after = main.clone()
        position = main.global_block().ops.index(gradient.get_defining_op())
        executor = paddle.static.Executor()
        del main, x, y, loss, gradient
        fetched = after.global_block().ops[position].result(0)
        (found,) = executor.run(after, feed=FEED, fetch_list=[fetched])
        assert [18.0, 18.0] == found.tolist()
        assert [[3.0, 3.0]] == seen

        with paddle.static.program_guard(before):
            block = before.global_block()
            named = {op.name(): op.result(0) for op in block.ops if op.num_results()}
            (again,) = paddle.static.gradients([named["pd_op.sum"]], [named["pd_op.data"]])
            (found,) = executor.run(before, feed=FEED, fetch_list=[again])
        assert [18.0, 18.0] == found.tolist()


def test_two_gradients_of_one_program() -> None:
    """Each call of `gradients` is a backward of its own, and fires the hooks."""
    with program():
        x = data("x", [2])
        y = 2 * x
        y.register_hook(square)
        a, b = 3 * y, 5 * y
        (first,) = paddle.static.gradients([a.sum()], [x])
        (second,) = paddle.static.gradients([b.sum()], [x])
        found = paddle.static.Executor().run(feed=FEED, fetch_list=[first, second])
    assert [[18.0, 18.0], [50.0, 50.0]] == [gradient.tolist() for gradient in found]


def test_exception_in_a_program() -> None:
    """The executor of a program raises the body's own exception, and runs again after it."""
    error: list[BaseException] = [KeyError("missing")]
    with program():
        x = data("x", [2])
        y = 2 * x

        def hook(g: paddle.Tensor) -> paddle.Tensor:
            if error:
                raise error.pop()
            return g * g

        y.register_hook(hook)
        (gradient,) = paddle.static.gradients([(3 * y).sum()], [x])
        executor = paddle.static.Executor()
        with pytest.raises(KeyError, match="missing"):
            executor.run(feed=FEED, fetch_list=[gradient])
        (found,) = executor.run(feed=FEED, fetch_list=[gradient])
    assert [18.0, 18.0] == found.tolist()
