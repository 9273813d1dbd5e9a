"""Bodies with effects run in Python at every backward, and their errors reach the caller."""

import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

import paddle
import pytest
from static_hooks import (
    HookTypeError,
    HookValueError,
    UnsupportedHookError,
    callback,
    callbacks,
    compare,
)

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
    pytest.mark.filterwarnings("ignore:Find variable"),  # Paddle's advice against `log.append`
]

X = [1.0, 0.5]


class CustomError(Exception):
    """An exception that can't be made from one string."""

    def __init__(self, code: int, *, detail: str) -> None:
        super().__init__(code, detail)
        self.code, self.detail = code, detail


def leaf(values: Any = X) -> paddle.Tensor:
    """Return a tensor that gradients flow to."""
    return paddle.to_tensor(values, stop_gradient=False)


def hooked(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Return a static function y = 2x, y * y with `hook` on y."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(hook)
        return y * y

    return paddle.jit.to_static(forward, full_graph=True)


def notes_of(error: BaseException) -> list[str]:
    """Return an exception's notes, on Python 3.10 too."""
    return getattr(error, "__notes__", [])


class Failing:
    """A hook that raises while `error` is set."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    def __call__(self, g: paddle.Tensor) -> paddle.Tensor:
        """Raise, or square."""
        if self.error is not None:
            raise self.error
        return g * g


@pytest.mark.parametrize(
    "error",
    [
        KeyError("missing"),
        ValueError("two", "arguments"),
        RuntimeError(),
        CustomError(7, detail="of mine"),
        StopIteration("early"),
        OSError(2, "no such file"),
        KeyboardInterrupt(),
        SystemExit(3),
        AssertionError("no"),
        ZeroDivisionError("division by zero"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_exception_keeps_type(error: BaseException, capfd: pytest.CaptureFixture[str]) -> None:
    """The very exception of a body reaches the caller with a note; then the next step works."""
    hook = Failing(error)
    static = hooked(hook)
    with pytest.raises(type(error)) as caught:
        static(leaf()).sum().backward()
    assert error is caught.value
    site = f"{__file__}:{hooked.__code__.co_firstlineno + 5}"
    assert [f"in backward hook 'Failing', registered at {site}"] == notes_of(error)
    assert "__call__" == traceback.extract_tb(error.__traceback__)[-1].name
    assert "Traceback" not in capfd.readouterr().err

    hook.error = None
    x = leaf()
    static(x).sum().backward()
    assert [32.0, 8.0] == x.grad.tolist()


def test_exception_on_an_input() -> None:
    """The exception of a hook on the function's input keeps its type and has the note, too."""
    hook = Failing(KeyError("missing"))

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        x.register_hook(hook)
        return x * x

    static = paddle.jit.to_static(forward, full_graph=True)
    with pytest.raises(KeyError) as caught:
        static(leaf()).sum().backward()
    assert notes_of(caught.value)[0].startswith("in backward hook 'Failing', registered at ")
    hook.error = None
    x = leaf()
    static(x).sum().backward()
    assert [4.0, 1.0] == x.grad.tolist()


def test_exception_in_paddle_grad() -> None:
    """`paddle.grad` raises the body's exception as `backward` does."""
    static = hooked(Failing(KeyError("missing")))
    x = leaf()
    with pytest.raises(KeyError, match="missing"):
        paddle.grad(static(x).sum(), x)


def test_exception_in_the_forward() -> None:
    """The exception of a hook that `paddle.grad` runs inside the function keeps its type."""

    def fail(g: paddle.Tensor) -> None:
        raise ZeroDivisionError("by zero")

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(fail)
        (gradient,) = paddle.grad((y * y).sum(), x)
        return y * gradient.detach()

    static = paddle.jit.to_static(forward, full_graph=True)
    with pytest.raises(ZeroDivisionError, match="by zero"):
        static(leaf())


def test_failure_is_not_remembered() -> None:
    """A failure of a hook never stands in for a later error of another kind."""
    static = hooked(Failing(KeyError("missing")))
    with pytest.raises(KeyError):
        static(leaf()).sum().backward()
    loss = (leaf() * 2).sum()
    loss.backward()
    with pytest.raises(SystemError, match="calculate backward twice"):
        loss.backward()


def test_exception_after_other_hooks() -> None:
    """Hooks that ran before the failing one did run; those after it did not."""
    seen: list[str] = []

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        z = y * y
        z.register_hook(lambda g: seen.append("z"))
        y.register_hook(lambda g: seen.append("y") or 1 / 0)
        x.register_hook(lambda g: seen.append("x"))
        return z

    x = leaf()
    with pytest.raises(ZeroDivisionError):
        paddle.jit.to_static(forward, full_graph=True)(x).sum().backward()
    assert ["z", "y"] == seen
    assert x.grad is None


def test_excepthook_is_put_back() -> None:
    """A failing hook leaves `sys.excepthook` as it was."""
    before = sys.excepthook
    with pytest.raises(KeyError):
        hooked(Failing(KeyError("missing")))(leaf()).sum().backward()
    assert before is sys.excepthook


def test_caught_inside() -> None:
    """A body may catch what backward raises inside it, and go on."""
    inner = hooked(Failing(KeyError("missing")))

    def hook(g: paddle.Tensor) -> paddle.Tensor:
        try:
            inner(leaf()).sum().backward()
        except KeyError:
            return g * g
        return g

    x = leaf()
    hooked(hook)(x).sum().backward()
    assert [32.0, 8.0] == x.grad.tolist()


def generator(g: paddle.Tensor) -> Any:
    """Yield the gradient."""
    yield g


@pytest.mark.parametrize(
    ("hook", "got"),
    [
        (lambda g: 3, "int"),
        (lambda g: 3.5, "float"),
        (lambda g: [g], "list"),
        (lambda g: (g, g), "tuple"),
        (lambda g: "text", "str"),
        (lambda g: g.numpy(), "ndarray"),
        (lambda g: type(g), "type"),
        (lambda g: paddle.tanh, "function"),
        (generator, "generator"),
    ],
)
def test_return_that_is_no_tensor(hook: Callable[..., Any], got: str) -> None:
    """What is neither a tensor nor None is refused; eager mode kills the process."""
    loss = hooked(hook)(leaf()).sum()
    with pytest.raises(TypeError) as caught:
        loss.backward()
    assert isinstance(caught.value, HookTypeError)
    name = f"backward hook {hook.__qualname__.rpartition('.')[2]!r}"
    assert f"{name} must return a tensor or None, but got {got}" == str(caught.value)


def test_coroutine() -> None:
    """An async function is refused as well: its coroutine is no tensor."""
    made: list[Any] = []

    async def body(g: paddle.Tensor) -> paddle.Tensor:
        return g

    def hook(g: paddle.Tensor) -> Any:
        made.append(body(g))
        return made[0]

    loss = hooked(hook)(leaf()).sum()
    with pytest.raises(TypeError, match="must return a tensor or None, but got coroutine"):
        loss.backward()
    made[0].close()


@pytest.mark.parametrize(
    ("hook", "must", "got"),
    [
        (lambda g: g.sum(), "shape [2]", "[]"),
        (lambda g: g.reshape([2, 1]), "shape [2]", "[2, 1]"),
        (lambda g: g * paddle.ones([3, 2]), "shape [2]", "[3, 2]"),
        (lambda g: g[:1], "shape [2]", "[1]"),
        (lambda g: g.astype("float64"), "dtype paddle.float32", "paddle.float64"),
        (lambda g: g > 0, "dtype paddle.float32", "paddle.bool"),
    ],
)
@pytest.mark.parametrize("force", [callback, lambda hook: hook], ids=["callback", "decided"])
def test_return_of_another_shape_or_dtype(
    hook: Callable[..., Any], must: str, got: str, force: Callable[..., Any]
) -> None:
    """A tensor of another shape or dtype is refused, also where the body could be traced."""
    loss = hooked(force(lambda g: hook(g)))(leaf()).sum()
    with pytest.raises(ValueError, match="must return a tensor of") as caught:
        loss.backward()
    assert isinstance(caught.value, HookValueError)
    assert str(caught.value).endswith(f"must return a tensor of {must}, but got {got}")


def test_refused_return_on_an_input() -> None:
    """What a hook on an input returns is checked as well."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        x.register_hook(lambda g: 3)
        return x * x

    loss = paddle.jit.to_static(forward, full_graph=True)(leaf()).sum()
    with pytest.raises(TypeError, match="must return a tensor or None, but got int"):
        loss.backward()


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        (lambda: 3, "takes 0 positional arguments but 1 was given"),
        (lambda a, b: a, "missing 1 required positional argument: 'b'"),
    ],
)
def test_wrong_number_of_parameters(hook: Callable[..., Any], message: str) -> None:
    """A hook that can't take one gradient fails in backward with Python's own error."""
    loss = hooked(hook)(leaf()).sum()
    with pytest.raises(TypeError, match=message):
        loss.backward()


def test_value_that_leaks() -> None:
    """A forward value in a nest too deep to be filled in is an error and no wrong gradient."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        kept = [[[[[[[[paddle.tanh(y)]]]]]]]]

        def hook(g: paddle.Tensor) -> paddle.Tensor:
            return kept[0][0][0][0][0][0][0][0] + g

        y.register_hook(hook)
        return y * y

    loss = paddle.jit.to_static(forward, full_graph=True)(leaf()).sum()
    with pytest.raises((TypeError, ValueError)):
        loss.backward()


def test_a_real_tensor() -> None:
    """A callback gets an eager tensor of the hooked tensor's shape and dtype."""
    seen: list[Any] = []

    def hook(g: paddle.Tensor) -> None:
        seen.append((type(g), g.shape, g.dtype, g.stop_gradient, g.numpy().tolist()))
        seen.append(paddle.in_dynamic_mode())

    hooked(hook)(leaf()).sum().backward()
    assert [(paddle.Tensor, [2], paddle.float32, False, [4.0, 2.0]), True] == seen


def test_kept_gradient() -> None:
    """A gradient that a body keeps stays as it was when later steps run."""
    kept: list[paddle.Tensor] = []
    static = hooked(lambda g: kept.append(g))
    for value in (1.0, 2.0, 3.0):
        static(leaf([value])).sum().backward()
    assert [[4.0], [8.0], [12.0]] == [g.tolist() for g in kept]


def test_in_place_under_no_grad() -> None:
    """An in-place change under `no_grad` changes the gradient, as in eager mode."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        def hook(g: paddle.Tensor) -> None:
            with paddle.no_grad():
                g.scale_(3.0)

        y = 2 * x
        y.register_hook(hook)
        return y * y

    report = compare(forward, X)
    assert () == report.differences
    assert [24.0, 12.0] == report.ast.gradients["x0"].tolist()


def test_in_place_refused() -> None:
    """An in-place change with gradients on is refused, as in eager mode, with the real reason."""
    loss = hooked(lambda g: g.scale_(3.0))(leaf()).sum()
    with pytest.raises(ValueError, match=r"[Ii]nplace"):
        loss.backward()


def test_equal_callbacks_are_not_merged() -> None:
    """The same callback registered twice on the same tensor runs twice, in order."""

    def forward(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
        def hook(g: paddle.Tensor) -> None:
            log.append(g.tolist())

        y = 2 * x
        y.register_hook(hook)
        y.register_hook(hook)
        a, b = paddle.tanh(y), paddle.tanh(y)
        a.register_hook(hook)
        b.register_hook(hook)
        return a + b

    report = compare(forward, X, rounds=2)
    assert () == report.differences
    assert 8 == len(report.ast.log)


def test_observer_is_not_pruned() -> None:
    """A callback runs even when nobody needs the gradient that it passes on."""
    seen: list[Any] = []

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        w = paddle.ones([2])
        w.stop_gradient = False
        y = 3 * w
        y.register_hook(lambda g: seen.append(g.tolist()))
        return x * y

    paddle.jit.to_static(forward, full_graph=True)(leaf()).sum().backward()
    assert [[1.0, 0.5]] == seen


def test_runs_at_every_backward() -> None:
    """A callback runs once at each of many backwards, with that backward's gradient."""
    seen: list[float] = []
    static = hooked(lambda g: seen.append(float(g[0])))
    for step in range(50):
        static(leaf([float(step)])).sum().backward()
    assert [4.0 * step for step in range(50)] == seen


@pytest.mark.filterwarnings("ignore:amp_guard can only be enabled")
def test_autocast_is_off() -> None:
    """A body runs without the automatic mixed precision that the forward was traced under."""
    seen: list[Any] = []

    def observe(g: paddle.Tensor) -> None:
        seen.append(paddle.matmul(g, g).dtype)

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(observe)
        y.register_hook(lambda g: paddle.matmul(g, g))
        return y * y

    static = paddle.jit.to_static(forward, full_graph=True)
    x = leaf([[1.0, 0.5], [0.25, 2.0]])
    with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
        loss = static(x).sum()
    loss.backward()
    assert [paddle.float32] == seen
    assert [[36.0, 48.0], [24.0, 132.0]] == x.grad.tolist()


def test_backward_inside_a_body() -> None:
    """A body may run another static function, its hooks included, and backward."""
    inner = hooked(lambda g: g * float(g.sum()))

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        def hook(g: paddle.Tensor) -> paddle.Tensor:
            z = leaf([1.0, 2.0])
            inner(z).sum().backward()
            return g * z.grad

        y = 2 * x
        y.register_hook(hook)
        return y * y

    x = leaf([1.0, 0.5])
    paddle.jit.to_static(forward, full_graph=True)(x).sum().backward()
    assert [768.0, 768.0] == x.grad.tolist()


def test_recursion() -> None:
    """A body may run the static function that it is a hook of."""
    depth = [0]

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        def hook(g: paddle.Tensor) -> paddle.Tensor:
            if depth[0] < 3:
                depth[0] += 1
                z = leaf([1.0])
                static(z).sum().backward()
                depth[0] -= 1
                return g * z.grad
            return g * g

        y = 2 * x
        y.register_hook(hook)
        return y * y

    static = paddle.jit.to_static(forward, full_graph=True)
    x = leaf([1.0])
    static(x).sum().backward()
    # 2 * 16 innermost, and 2 * 4 times the gradient from inside at each of three levels.
    assert [16384.0] == x.grad.tolist()
    assert [0] == depth


def test_callers_thread() -> None:
    """A body runs in the thread that calls `backward`, and sees that thread's own state."""
    state = threading.local()
    seen: list[Any] = []
    static = hooked(lambda g: seen.append((threading.get_ident(), state.name)))
    losses = [static(leaf()).sum() for _ in range(3)]

    def work(name: str) -> None:
        state.name = name
        losses.pop().backward()

    for name in ("first", "second"):
        thread = threading.Thread(target=work, args=(name,))
        thread.start()
        thread.join()
    work("main")
    assert ["first", "second", "main"] == [name for _, name in seen]
    assert threading.get_ident() == seen[2][0]


def test_failure_in_another_thread() -> None:
    """A failure in one thread is not reported in another."""
    static = hooked(Failing(KeyError("missing")))
    losses = [static(leaf()).sum() for _ in range(2)]
    caught: list[BaseException] = []

    def work() -> None:
        try:
            losses.pop().backward()
        except KeyError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert 1 == len(caught)
    again = leaf()
    (again * again).sum().backward()
    assert [2.0, 1.0] == again.grad.tolist()


def test_no_flag_is_left() -> None:
    """Running callbacks leaves the executor's flag as it was."""
    before = paddle.get_flags(callbacks._IN_ORDER)
    hooked(lambda g: g.numpy() and None)(leaf([1.0])).sum().backward()
    assert before == paddle.get_flags(callbacks._IN_ORDER)


def test_hook_that_registers_a_hook_on_a_tensor_of_the_forward() -> None:
    """It is refused in words of its own: the tensor of the run has no gradient there."""

    def registering(x):
        y = x * 2
        z = y * y
        z.register_hook(lambda g: y.register_hook(lambda g: g * g) and None)
        return z * 3

    x = paddle.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(UnsupportedHookError, match="must not register a hook on a tensor of the"):
        paddle.jit.to_static(registering, full_graph=True)(x).backward()
