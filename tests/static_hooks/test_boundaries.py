"""Hooks on inputs and parameters are hooks on the caller's tensors, as in eager mode."""

from collections.abc import Callable
from typing import Any

import paddle
import pytest
from paddle.static import InputSpec
from static_hooks import UnsupportedHookError, compare

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
    pytest.mark.filterwarnings("ignore:Find variable"),  # Paddle's advice against `log.append`
]

GONE = "does not exist or has been removed"


def leaf(values: Any) -> paddle.Tensor:
    """Return a tensor that gradients flow to."""
    return paddle.to_tensor(values, stop_gradient=False)


def square(g: paddle.Tensor) -> paddle.Tensor:
    """Be a hook that is not linear."""
    return g * g


def converted(function: Any) -> Any:
    """Convert the whole of a function or Layer."""
    return paddle.jit.to_static(function, full_graph=True)


def as_it_is(function: Any) -> Any:
    """Leave a function or Layer in eager mode."""
    return function


both = pytest.mark.parametrize("convert", [as_it_is, converted], ids=["eager", "static"])


class Scaled(paddle.nn.Layer):
    """Hooks its parameter in forward."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        super().__init__()
        start = paddle.nn.initializer.Constant(1.0)
        self.weight = self.create_parameter([1], default_initializer=start)
        self.hook = hook
        self.handle: Any = None

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Scale the input."""
        self.handle = self.weight.register_hook(self.hook)
        return x * self.weight


@both
def test_uses_outside(convert: Any) -> None:
    """A hook on an input sees the gradients of uses outside the function, too: (3 + 5)² · 2."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        x.register_hook(square)
        return 3 * x

    function, x = convert(forward), leaf([1.0])
    a = 2 * x
    (function(a) + 5 * a).sum().backward()
    assert [128.0] == x.grad.tolist()


@both
def test_stays_registered(convert: Any) -> None:
    """A hook on an input stays on the caller's tensor after the call: 3² + 5²."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        x.register_hook(square)
        return 3 * x

    function, x = convert(forward), leaf([1.0])
    function(x).sum().backward()
    (5 * x).sum().backward()
    assert [34.0] == x.grad.tolist()


@both
def test_registered_at_each_call(convert: Any) -> None:
    """A second call with the same tensor adds a second hook: 3², then (3²)²."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        x.register_hook(square)
        return 3 * x

    function, x = convert(forward), leaf([1.0])
    found = []
    for _ in range(3):
        x.clear_gradient(set_to_zero=False)
        function(x).sum().backward()
        found.append(x.grad.tolist())
    assert [[9.0], [81.0], [6561.0]] == found


@both
def test_parameter_in_forward(convert: Any) -> None:
    """A hook on a parameter, registered in forward, adds up over the calls: ×2, ×4, ×8."""
    net = Scaled(lambda g: g * 2)
    function = convert(net)
    found = []
    for _ in range(3):
        function(leaf([1.0])).sum().backward()
        found.append(net.weight.grad.tolist())
        net.weight.clear_gradient(set_to_zero=False)
    assert [[2.0], [4.0], [8.0]] == found


@both
def test_handle_on_a_parameter(convert: Any) -> None:
    """The handle of a hook on a parameter removes that call's registration."""
    net = Scaled(lambda g: g * 2)
    function = convert(net)
    found = []
    for _ in range(3):
        function(leaf([1.0])).sum().backward()
        found.append((net.weight.grad.tolist(), net.handle.remove()))
        net.weight.clear_gradient(set_to_zero=False)
    assert [([2.0], True)] * 3 == found


@both
@pytest.mark.filterwarnings(f"ignore:.*{GONE}")
def test_handle_on_an_input(convert: Any) -> None:
    """The handle of a hook on an input acts on the latest call's tensor, and tells if it did."""

    class Net(paddle.nn.Layer):
        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            self.handle = x.register_hook(square)
            return x * x

    net = Net()
    function = convert(net)
    found = []
    for step in range(3):
        x = leaf([3.0])
        loss = function(x).sum()
        answers = [net.handle.remove(), net.handle.remove()] if step == 1 else []
        loss.backward()
        found.append((x.grad.tolist(), answers))
    assert [([36.0], []), ([6.0], [True, False]), ([36.0], [])] == found


@both
def test_eager_tensor_from_outside(convert: Any) -> None:
    """A tensor that the function reaches from outside is hooked as the eager tensor it is."""
    weight = leaf([2.0])

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        weight.register_hook(square)
        return x * weight * weight

    x = leaf([1.0])
    convert(forward)(x).sum().backward()
    assert ([16.0], [4.0]) == (weight.grad.tolist(), x.grad.tolist())


@both
def test_same_tensor_twice(convert: Any) -> None:
    """A tensor passed as two arguments has the hooks of both: (2)² + 1."""

    def forward(a: paddle.Tensor, b: paddle.Tensor) -> paddle.Tensor:
        a.register_hook(square)
        b.register_hook(lambda g: g + 1)
        return a * b

    x = leaf([1.0])
    convert(forward)(x, x).sum().backward()
    assert [5.0] == x.grad.tolist()


@both
def test_returned_input(convert: Any) -> None:
    """An input that is returned as it is has its hook: (3 + 2)²."""

    def forward(x: paddle.Tensor) -> tuple[paddle.Tensor, paddle.Tensor]:
        x.register_hook(square)
        return x, 2 * x

    x = leaf([1.0])
    same, double = convert(forward)(x)
    (3 * same + double).sum().backward()
    assert [25.0] == x.grad.tolist()


@both
def test_inputs_in_containers(convert: Any) -> None:
    """Tensors that arrive in lists, dicts and by keyword are hooked each for itself."""

    def forward(named: dict[str, Any], listed: list[Any], factor: Any) -> paddle.Tensor:
        named["a"].register_hook(square)
        listed[1].register_hook(lambda g: g + 1)
        factor.register_hook(lambda g: g * g * g)
        return named["a"] * listed[0] * listed[1] * factor

    function = convert(forward)
    found = []
    for value in (2.0, 3.0):
        a, b, c, d = leaf([value]), leaf([1.0]), leaf([3.0]), leaf([1.0])
        function({"a": a, "other": 3}, [b, c], factor=d).sum().backward()
        found.append([tensor.grad.tolist() for tensor in (a, b, c, d)])
    assert [
        [[9.0], [6.0], [3.0], [216.0]],
        [[9.0], [9.0], [4.0], [729.0]],
    ] == found


@both
def test_captured_by_a_hook_on_a_boundary(convert: Any) -> None:
    """A hook on an input or parameter may use values that are computed later, each call its own."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            start = paddle.nn.initializer.Constant(1.0)
            self.weight = self.create_parameter([1], default_initializer=start)

        def forward(self, x: paddle.Tensor) -> Any:
            y = x * self.weight
            x.register_hook(lambda g: g * z)
            z = y * y
            self.weight.register_hook(lambda g: g * y)
            return z, 3

    function = convert(Net())
    xs = [leaf([2.0]), leaf([3.0])]
    (first, three), (second, _) = function(xs[0]), function(xs[1])
    assert 3 == three
    first.sum().backward()
    second.sum().backward()
    # 2y · w · y², with y = x; the parameter has both hooks by then, each with its own run's y
    assert [[16.0], [54.0]] == [x.grad.tolist() for x in xs]


@both
def test_exception_leaves_nothing_behind(convert: Any) -> None:
    """A run after one whose hook failed has the hooks of its own tensors alone."""
    errors: list[BaseException] = [ZeroDivisionError("by zero")]

    def hook(g: paddle.Tensor) -> paddle.Tensor:
        if errors:
            raise errors.pop()
        return g * g

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        x.register_hook(hook)
        return 3 * x

    function = convert(forward)
    with pytest.raises((ZeroDivisionError, OSError), match="by zero"):
        function(leaf([1.0])).sum().backward()
    x = leaf([1.0])
    function(x).sum().backward()
    assert [9.0] == x.grad.tolist()


def test_input_that_stops_gradients_later() -> None:
    """A tensor that stops gradients, passed to a function that hooks it, is refused."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        x.register_hook(square)
        return 3 * x

    spec = [InputSpec([1], "float32", stop_gradient=False)]
    static = paddle.jit.to_static(forward, full_graph=True, input_spec=spec)
    static(leaf([1.0])).sum().backward()
    with pytest.raises(RuntimeError, match="Cannot register hook on a tensor that stop gradient"):
        static(paddle.to_tensor([1.0]))


def test_several_signatures() -> None:
    """Each traced program hooks the tensors of its own runs, in any order of calls."""

    class Net(paddle.nn.Layer):
        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            y = 2 * x
            self.kept = paddle.tanh(y)
            x.register_hook(lambda g: g * self.kept)
            y.register_hook(lambda g: g * g * self.kept)
            return y * y

    found: list[list[Any]] = []
    for convert in (as_it_is, converted):
        function = convert(Net())
        found.append([])
        for values in ([1.0], [1.0, 0.5], [0.5], [0.25, 1.0], [[1.0]]):
            x = leaf(values)
            function(x).sum().backward()
            found[-1].append([round(v, 5) for v in x.grad.flatten().tolist()])
    assert found[0] == found[1]


def test_dynamic_shape() -> None:
    """With a dynamic dimension the hooks of one program serve every size."""
    seen: list[Any] = []

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        x.register_hook(lambda g: seen.append(list(g.shape)) or g * g)
        y = 2 * x
        y.register_hook(lambda g: seen.append(list(g.shape)))
        return y * y

    spec = [InputSpec([None, 2], "float32", stop_gradient=False)]
    static = paddle.jit.to_static(forward, full_graph=True, input_spec=spec)
    for rows in (1, 3):
        x = leaf([[1.0, 0.5]] * rows)
        static(x).sum().backward()
        assert [[64.0, 16.0]] * rows == x.grad.tolist()
    assert [[1, 2], [1, 2], [3, 2], [3, 2]] == seen


def test_eval_mode() -> None:
    """In eval mode nothing fires and the outputs are right; training goes on after it."""
    seen: list[Any] = []

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            start = paddle.nn.initializer.Constant(0.5)
            self.linear = paddle.nn.Linear(2, 2, weight_attr=start)

        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            y = self.linear(x)
            y.register_hook(lambda g: seen.append(g.tolist()) or g * g)
            return y * y

    net = Net()
    static = converted(net)
    net.eval()
    assert [[2.25, 2.25]] == static(leaf([[1.0, 2.0]])).tolist()
    assert [] == seen
    net.train()
    x = leaf([[1.0, 2.0]])
    static(x).sum().backward()
    assert [[9.0, 9.0]] == x.grad.tolist()
    assert [[[3.0, 3.0]]] == seen


def test_values_of_an_eval_run() -> None:
    """A hook that an eval run left on a parameter has no values of that run, and says so."""

    class Net(Scaled):
        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            y = x * self.weight
            self.weight.register_hook(lambda g: g * y)
            return y

    net = Net(square)
    static = converted(net)
    net.eval()
    assert [2.0] == static(leaf([2.0])).tolist()
    net.train()
    loss = static(leaf([2.0])).sum()
    with pytest.raises(UnsupportedHookError) as caught:
        loss.backward()
    assert str(caught.value).endswith(
        ": a run that registers it on an input or parameter must be in training mode, since it "
        "uses values of the run, but got one in eval mode; register it only `if self.training`"
    )


def test_paddle_grad_outside() -> None:
    """`paddle.grad` through the function fires its hooks, but not those on the leaf."""

    def forward(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(lambda g: log.append(("y", g.tolist())) or g * g)
        x.register_hook(lambda g: log.append(("x", g.tolist())) or g + 1)
        return y * y

    found = []
    for convert in (as_it_is, converted):
        log: list[Any] = []
        x = leaf([1.0])
        (gradient,) = paddle.grad(convert(forward)(x, log).sum(), x)
        found.append((gradient.tolist(), log))
    assert [([32.0], [("y", [4.0])])] * 2 == found


def test_nested_static_function() -> None:
    """A converted function inside a converted function is a part of it, its hooks included."""

    def inner(x: paddle.Tensor) -> paddle.Tensor:
        x.register_hook(lambda g: g + 1)
        y = 2 * x
        y.register_hook(square)
        return y

    static = converted(inner)

    def outer(x: paddle.Tensor) -> paddle.Tensor:
        return static(static(x) * 3)

    def plain(x: paddle.Tensor) -> paddle.Tensor:
        return inner(inner(x) * 3)

    found = []
    for function in (plain, converted(outer)):
        x = leaf([1.0])
        function(x).sum().backward()
        found.append(x.grad.tolist())
    assert [[163.0]] * 2 == found


def test_layer_hooks() -> None:
    """Tensors may be hooked in a layer's own forward hooks."""

    def net() -> paddle.nn.Layer:
        start = paddle.nn.initializer.Constant(0.5)
        layer = paddle.nn.Linear(2, 2, weight_attr=start)
        layer.register_forward_pre_hook(_hook_input)
        layer.register_forward_post_hook(_hook_output)
        return layer

    report = compare(net, [[1.0, 2.0]], rounds=2)
    assert () == report.differences
    # 1 squared, back through the weights 0.5 + 0.5, plus 1; plus 2 in the second round, when the
    # input has the first round's hook as well
    assert [[5.0, 5.0]] == report.ast.gradients["x0"].tolist()


def _hook_input(layer: Any, inputs: Any) -> None:
    inputs[0].register_hook(lambda g: g + 1)


def _hook_output(layer: Any, inputs: Any, output: Any) -> None:
    output.register_hook(square)


def test_shared_hook() -> None:
    """One stateful hook of two static functions counts the backwards of both."""
    count = [0]

    def counting(g: paddle.Tensor) -> paddle.Tensor:
        count[0] += 1
        return g * count[0]

    def double(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(counting)
        return y

    def triple(x: paddle.Tensor) -> paddle.Tensor:
        y = 3 * x
        y.register_hook(counting)
        return y

    first, second = converted(double), converted(triple)
    found = []
    for function in (first, second, first):
        x = leaf([1.0])
        function(x).sum().backward()
        found.append(x.grad.tolist())
    assert [[2.0], [6.0], [6.0]] == found


@pytest.mark.parametrize(("outside", "right"), [(False, ["x"]), (True, ["x", "y"])])
def test_input_that_only_another_result_uses(outside: bool, right: list[str]) -> None:
    """Its hook is not called with Paddle's zeros, but with what comes from outside it is."""
    calls: list[str] = []

    def two(x, y):
        x.register_hook(lambda g: calls.append("x"))
        y.register_hook(lambda g: calls.append("y"))
        return x * 2, y * 3

    x, y = (paddle.to_tensor([1.0], stop_gradient=False) for _ in range(2))
    first, _ = paddle.jit.to_static(two, full_graph=True)(x, y)
    (first + y * y if outside else first).backward()

    assert right == sorted(calls)


class Once(Scaled):
    """Registers its hook in the first forward only."""

    handle: Any = None

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Look whether there is a handle."""
        if self.handle is None:
            self.handle = self.weight.register_hook(self.hook)
        return x * self.weight


class Renewed(Scaled):
    """Removes the hook of the forward before."""

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Look for a handle by its name."""
        if getattr(self, "handle", None) is not None:
            self.handle.remove()
        self.handle = self.weight.register_hook(self.hook)
        return x * self.weight


@pytest.mark.parametrize("kind", [Once, Renewed])
def test_handle_that_decides_about_a_hook_on_a_parameter(kind: type[Scaled]) -> None:
    """A hook on a parameter is refused where `forward` looks at its handle: tracing looks once."""
    static = converted(kind(square))
    for _ in range(2):
        with pytest.raises(UnsupportedHookError) as caught:
            static(leaf([1.0]))
        assert "but the function reads the attribute 'handle'" in str(caught.value)
        assert "register the hook outside of the function" in str(caught.value)
