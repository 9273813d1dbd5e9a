"""Registering writes down; handles remove, in every phase, as in eager mode."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import paddle
import pytest
from paddle.base.dygraph.tensor_patch_methods import TensorHookRemoveHelper
from static_hooks import HookHandle, HookTypeError, compare, registration

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
    pytest.mark.filterwarnings("ignore:Find variable"),  # Paddle's advice against `log.append`
]

X = [1.0, 0.5]
GONE = "does not exist or has been removed"


def leaf(values: Any = X) -> paddle.Tensor:
    """Return a tensor that gradients flow to."""
    return paddle.to_tensor(values, stop_gradient=False)


def square(g: paddle.Tensor) -> paddle.Tensor:
    """Be a hook that is not linear."""
    return g * g


def converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Convert the whole of a function."""
    return paddle.jit.to_static(function, full_graph=True)


def step(function: Callable[..., Any], values: Any = X) -> list[float]:
    """Run forward and backward; return the input's gradient."""
    x = leaf(values)
    function(x).sum().backward()
    return x.grad.tolist()


def traced(function: Callable[..., Any]) -> paddle.static.Program:
    """Return the program of a function; what is in its registry lives as long as it."""
    return converted(function).get_concrete_program(leaf())[0].main_program


def test_nothing_is_inserted() -> None:
    """Registering inserts no operation: the traced program is that of the unhooked function."""

    def hooked(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(square)
        return y * y

    def unhooked(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        return y * y

    programs = [traced(hooked), traced(unhooked)]
    names = [[op.name() for op in program.global_block().ops] for program in programs]
    assert names[0] == names[1]
    assert registration.of(programs[1]) is None


def test_in_the_order_registered() -> None:
    """The registry has the hooks in the order in which they were registered, where, and on what."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        z = y * y
        z.register_hook(square)
        y.register_hook(abs)
        return z

    program = traced(forward)
    entries = registration.of(program).entries
    line = forward.__code__.co_firstlineno
    assert [(square, line + 3), (abs, line + 4)] == [(entry.raw, entry.line) for entry in entries]
    names = [entry.target.get_defining_op().name() for entry in entries]
    assert ["pd_op.multiply", "pd_op.scale"] == names


def test_stop_gradient() -> None:
    """A tensor that stops gradients is refused with eager's error, word for word."""
    detached = paddle.to_tensor(X)
    with pytest.raises(RuntimeError) as eager:
        detached.register_hook(square)

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = (2 * x).detach()
        y.register_hook(square)
        return x * x

    with pytest.raises(RuntimeError, match=str(eager.value)):
        converted(forward)(leaf())


@pytest.mark.parametrize("kind", ["no_grad", "input", "eager"])
def test_stop_gradient_elsewhere(kind: str) -> None:
    """The same holds under `no_grad`, for an input, and for an eager tensor from outside."""
    outside = paddle.to_tensor(X)

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        if kind == "no_grad":
            with paddle.no_grad():
                y = 2 * x
        else:
            y = x if kind == "input" else outside
        y.register_hook(square)
        return x * x

    x = paddle.to_tensor(X, stop_gradient=kind == "input")
    with pytest.raises(RuntimeError, match="Cannot register hook on a tensor that stop gradient"):
        converted(forward)(x)


@pytest.mark.parametrize("hook", [None, 3, "square", [square]])
def test_not_callable(hook: Any) -> None:
    """What is not callable is refused where it is registered; eager mode finds out in backward."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(hook)
        return y

    with pytest.raises(TypeError) as caught:
        converted(forward)(leaf())
    assert (
        f"register_hook: hook must be callable, but got {type(hook).__name__}; "
        "pass a function of one gradient"
    ) in str(caught.value)


def test_not_callable_in_a_program() -> None:
    """In a `paddle.static` program the refusal is the package's own error."""
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()):
            x = paddle.static.data("x", [2])
            x.stop_gradient = False
            with pytest.raises(HookTypeError, match="hook must be callable, but got int"):
                x.register_hook(3)
    finally:
        paddle.disable_static()


def test_handle_type() -> None:
    """The handle is of the type that eager mode returns."""
    found: list[Any] = [(leaf() * 2).register_hook(square)]

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        found.append(y.register_hook(square))
        found.append(x.register_hook(square))
        return y

    converted(forward)(leaf())
    assert 3 == len(found)
    assert [True, True, True] == [isinstance(handle, TensorHookRemoveHelper) for handle in found]
    assert TensorHookRemoveHelper is type(found[0])
    assert isinstance(found[1], HookHandle)


def removed_while_tracing(x: paddle.Tensor) -> paddle.Tensor:
    """Remove one of three hooks, after a use."""
    y = 2 * x
    first = y.register_hook(lambda g: g + 1)
    second = y.register_hook(square)
    y.register_hook(lambda g: g * 3)
    z = y * y
    second.remove()
    first.remove()
    y.register_hook(lambda g: g - 1)
    return z


def removed_twice(x: paddle.Tensor) -> paddle.Tensor:
    """Use what `remove` returns."""
    y = 2 * x
    handle = y.register_hook(square)
    first = handle.remove()
    return y * y * (3.0 if first else 5.0)


def one_of_duplicates(x: paddle.Tensor) -> paddle.Tensor:
    """Remove one of two registrations of the same hook."""
    y = 2 * x
    handle = y.register_hook(square)
    y.register_hook(square)
    handle.remove()
    return y * y


def removed_on_the_input(x: paddle.Tensor) -> paddle.Tensor:
    """Remove a hook on the function's input."""
    handle = x.register_hook(square)
    x.register_hook(lambda g: g + 1)
    handle.remove()
    return x * x


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (removed_while_tracing, [22.0, 10.0]),
        (removed_twice, [24.0, 12.0]),
        (one_of_duplicates, [32.0, 8.0]),
        (removed_on_the_input, [3.0, 2.0]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_removed_while_tracing(function: Callable[..., Any], expected: list[float]) -> None:
    """A hook removed in the function itself is not there, the others are."""
    report = compare(function, X)
    assert () == report.differences
    assert expected == report.ast.gradients["x0"].tolist()


def test_removed_twice_while_tracing() -> None:
    """Removing again in the function returns False and warns, as in eager mode."""
    answers: list[bool] = []

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        handle = y.register_hook(square)
        answers.append(handle.remove())
        answers.append(handle.remove())
        return y * y

    with pytest.warns(RuntimeWarning, match=GONE):
        forward(leaf())
    static = converted(forward)
    with pytest.warns(RuntimeWarning, match=GONE):
        static(leaf())
    assert [True, False, True, False] == answers
    assert [8.0, 4.0] == step(static)


class Net(paddle.nn.Layer):
    """Keeps the handle of its hook in one of several ways."""

    def __init__(self, keep: str) -> None:
        super().__init__()
        self.keep = keep
        self.kept: Any = None
        self.handles: list[Any] = []

    def forward(self, x: paddle.Tensor) -> Any:
        """Register a hook on an intermediate."""
        y = 2 * x
        handle = y.register_hook(square)
        if self.keep == "self":
            self.kept = handle
        if self.keep == "list":
            self.handles.append(handle)
        if self.keep == "returned":
            return y * y, handle
        return y * y


@pytest.mark.parametrize("keep", ["self", "list", "returned"])
def test_removed_in_any_phase(keep: str) -> None:
    """A kept handle removes the hook from the run before its backward, and from that run alone."""
    net = Net(keep)
    static = converted(net)

    def run() -> tuple[paddle.Tensor, paddle.Tensor, Any]:
        x = leaf()
        result = static(x)
        out, handle = result if keep == "returned" else (result, net.kept)
        return x, out.sum(), net.handles[-1] if keep == "list" else handle

    x, loss, handle = run()
    loss.backward()
    assert [32.0, 8.0] == x.grad.tolist()
    assert handle.remove()  # between steps: this run's backward is over
    x, loss, handle = run()
    assert handle.remove()
    with pytest.warns(RuntimeWarning, match=GONE):
        assert not handle.remove()
    loss.backward()
    assert [8.0, 4.0] == x.grad.tolist()
    x, loss, handle = run()
    loss.backward()
    assert [32.0, 8.0] == x.grad.tolist()


def test_two_runs_before_one_backward() -> None:
    """With two runs before one backward, the handle kept on the layer is that of the second."""
    found = []
    for convert in (lambda layer: layer, converted):
        net = Net("self")
        called = convert(net)
        a, b = leaf(), leaf()
        first, second = called(a), called(b)
        net.kept.remove()
        (first + second).sum().backward()
        found.append((a.grad.tolist(), b.grad.tolist()))
    assert [([32.0, 8.0], [8.0, 4.0])] * 2 == found


def test_handle_of_an_earlier_signature() -> None:
    """With several signatures, each traced program's handle acts on its own runs."""
    net = Net("list")
    static = converted(net)
    a, b = leaf([1.0]), leaf([1.0, 1.0])
    first, second = static(a), static(b)
    assert 2 == len(net.handles)
    net.handles[0].remove()
    first.sum().backward()
    second.sum().backward()
    assert ([8.0], [32.0, 32.0]) == (a.grad.tolist(), b.grad.tolist())


def test_self_removal() -> None:
    """A hook may remove itself while it runs; eager mode kills the process."""
    calls: list[float] = []

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        def hook(g: paddle.Tensor) -> paddle.Tensor:
            calls.append(float(g[0]))
            assert handle.remove()
            return g * g

        y = 2 * x
        handle = y.register_hook(hook)
        return y * y

    static = converted(forward)
    assert [[32.0, 8.0], [32.0, 8.0]] == [step(static), step(static)]
    assert [4.0, 4.0] == calls


def test_removing_another_hook() -> None:
    """A hook may remove one that runs later in the same backward: it does not run."""

    def forward(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
        y = 2 * x
        z = y * y
        later = y.register_hook(lambda g: log.append("later"))
        z.register_hook(lambda g: (log.append("first"), later.remove(), None)[2])
        return z

    report = compare(forward, X, rounds=2)
    assert () == report.differences
    assert ["first", "first"] == report.ast.log


def test_handle_that_is_not_kept() -> None:
    """A handle that nobody keeps is gone, so its hook can be traced."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        handle = y.register_hook(square)
        del handle
        y.register_hook(square)
        return y

    program = traced(forward)
    registry = registration.of(program)
    gc.collect()
    assert [None, None] == [entry.kept_handle() for entry in registry.entries]
    assert [True, True] == [entry.place(registry).decision.traced for entry in registry.entries]


def test_kept_handle_is_called_back() -> None:
    """A hook whose handle is kept is called back, since it may be removed from one run."""
    kept: list[Any] = []

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        kept.append(y.register_hook(square))
        return y

    program = traced(forward)
    registry = registration.of(program)
    decision = registry.entries[0].place(registry).decision
    assert (False, "its handle is kept, so it may be removed later") == (
        decision.traced,
        decision.reason,
    )


def test_carried_over_to_clones() -> None:
    """A clone of a program has its hooks, on its own values, and a clone of a clone as well."""
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x = paddle.static.data("x", [2])
            x.stop_gradient = False
            y = 2 * x
            y.register_hook(square)
            y * y
        clone = main.clone().clone()
        registry = registration.of(clone)
        value = registry.resolve(y)
        assert main.global_block() == y.get_defining_op().get_parent_block()
        assert clone.global_block() == value.get_defining_op().get_parent_block()
        assert "pd_op.scale" == value.get_defining_op().name()
        assert [square] == [entry.raw for entry in registry.entries]
    finally:
        paddle.disable_static()


def test_registry_dies_with_the_program() -> None:
    """Nothing but the program keeps its registry alive."""
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x = paddle.static.data("x", [2])
            x.stop_gradient = False
            x.register_hook(lambda g: g)
        alive = weakref.ref(registration.of(main))
        assert alive() is not None
        del main, x
        gc.collect()
        assert alive() is None
    finally:
        paddle.disable_static()
