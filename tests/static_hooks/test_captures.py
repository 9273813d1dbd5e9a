"""What a body reaches of the forward graph is there when it runs, wherever it is kept."""

import functools
import types
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import paddle
import pytest
from paddle.pir import Value
from static_hooks import captures, compare

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
    pytest.mark.filterwarnings("ignore:Find variable"),  # Paddle's advice against `log.append`
]

X = [1.0, 0.5]


class Pair(NamedTuple):
    """Holds a tensor by name."""

    tensor: Any
    factor: float


class Slotted:
    """Keeps a tensor in a slot."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


class Base:
    """Reads its tensor in a method, through a property, and when it is called."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    @property
    def tensor(self) -> Any:
        """The tensor."""
        return self._tensor

    def scaled(self, g: Any) -> Any:
        """Scale by the tensor."""
        return g * self.tensor

    def hook(self, g: Any) -> Any:
        """Call another method."""
        return self.scaled(g) + 1

    def __call__(self, g: Any) -> Any:
        """Call another method, too."""
        return self.hook(g) * g


class Derived(Base):
    """Inherits everything."""


class Kept:
    """Has an attribute of the class."""

    tensor: ClassVar[Any] = None


def in_a_cell(y: Any, m: Any) -> Any:
    """A variable of the traced function."""
    return lambda g: g * m


def in_a_nested_cell(y: Any, m: Any) -> Any:
    """A variable of a function that the hook calls."""

    def inner(g: Any) -> Any:
        return g * m

    def outer(g: Any) -> Any:
        return inner(g)

    return lambda g: outer(g) + 1


def in_a_list(y: Any, m: Any) -> Any:
    """An item of a list in a dict in a list."""
    kept = [{"deep": [m]}]
    return lambda g: g * kept[0]["deep"][0]


def in_a_tuple(y: Any, m: Any) -> Any:
    """An item of a tuple in a tuple."""
    kept = (1.0, (m, 2.0))
    return lambda g: g * kept[1][0] * kept[1][1]


def in_a_named_tuple(y: Any, m: Any) -> Any:
    """A field of a named tuple."""
    pair = Pair(m, 2.0)
    return lambda g: g * pair.tensor * pair.factor


def in_a_deque(y: Any, m: Any) -> Any:
    """An item of a deque."""
    kept = deque([y, m])
    return lambda g: g * kept[-1]


def in_an_attribute(y: Any, m: Any) -> Any:
    """An attribute of an attribute."""
    kept = types.SimpleNamespace(inner=types.SimpleNamespace(tensor=m))
    return lambda g: g * kept.inner.tensor


def in_a_slot(y: Any, m: Any) -> Any:
    """A slot of an object."""
    kept = Slotted(m)
    return lambda g: g * kept.tensor


def behind_a_property(y: Any, m: Any) -> Any:
    """An attribute that only a property reads."""
    kept = Derived(m)
    return lambda g: g * kept.tensor


def in_a_class(y: Any, m: Any) -> Any:
    """An attribute of a class."""
    Kept.tensor = m
    return lambda g: g * Kept.tensor


def in_a_method(y: Any, m: Any) -> Any:
    """An attribute that a method reads through another method."""
    return Derived(m).hook


def in_a_callable(y: Any, m: Any) -> Any:
    """An attribute that an inherited `__call__` reads through methods."""
    return Derived(m)


def in_a_default(y: Any, m: Any) -> Any:
    """Defaults, positional and by keyword."""

    def hook(g: Any, k: Any = (m, 2.0), *, n: Any = m) -> Any:
        return g * k[0] * k[1] + n

    return hook


def in_a_partial(y: Any, m: Any) -> Any:
    """Arguments of a partial, positional and by keyword."""
    return functools.partial(lambda a, g, k: g * a + k[0], m, k=[y])


def in_a_list_in_a_tuple(y: Any, m: Any) -> Any:
    """An item of a list in a tuple that has a tensor as well."""
    kept = (y, [m])
    return lambda g: g * kept[0] + kept[1][0]


def in_a_default_of_a_helper(y: Any, m: Any) -> Any:
    """A default of a function that the hook calls."""

    def helper(g: Any, k: Any = m) -> Any:
        return g * k

    return lambda g: helper(g) * g


PLACES = [
    in_a_cell,
    in_a_nested_cell,
    in_a_list,
    in_a_tuple,
    in_a_named_tuple,
    in_a_deque,
    in_an_attribute,
    in_a_slot,
    behind_a_property,
    in_a_class,
    in_a_method,
    in_a_callable,
    in_a_default,
    in_a_partial,
    in_a_list_in_a_tuple,
    in_a_default_of_a_helper,
]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_found_wherever_it_is_kept(place: Callable[..., Any]) -> None:
    """A body that uses a forward value gives eager's gradients, whatever holds the value."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        m = paddle.tanh(y)
        y.register_hook(place(y, m))
        return y * y

    assert () == compare(forward, X, rounds=2).differences


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_real_tensors_in_a_callback(place: Callable[..., Any]) -> None:
    """The same holds for a body that is called back, which then sees real tensors."""

    def forward(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
        y = 2 * x
        m = paddle.tanh(y)
        hook = place(y, m)

        def observed(g: paddle.Tensor) -> paddle.Tensor:
            result = hook(g)
            log.append([round(v, 3) for v in result.numpy().tolist()])
            return result

        y.register_hook(observed)
        return y * y

    report = compare(forward, X, rounds=2)
    assert () == report.differences
    assert 2 == len(report.ast.log)


def test_places_are_put_back() -> None:
    """Between calls a place holds what the traced function left there."""
    kept: dict[str, Any] = {}

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        kept["m"] = paddle.tanh(y)
        y.register_hook(lambda g: g * kept["m"].clone())
        return y * y

    x = paddle.to_tensor(X, stop_gradient=False)
    loss = paddle.jit.to_static(forward, full_graph=True)(x).sum()
    traced = kept["m"]
    loss.backward()
    assert isinstance(traced, Value)
    assert traced is kept["m"]


def test_value_computed_later() -> None:
    """A body may use a value that is computed after its tensor, under a re-bound name too."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        m = y
        y.register_hook(lambda g: g * m)
        m = paddle.exp(y)
        return y * y * m

    assert () == compare(forward, X, rounds=2).differences


def test_input_and_parameter() -> None:
    """A body may use the function's input and a parameter, as they are at each run."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            start = paddle.nn.initializer.Constant(0.5)
            self.linear = paddle.nn.Linear(2, 2, weight_attr=start)

        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            y = self.linear(x)
            y.register_hook(lambda g: g * x * self.linear.weight.sum())
            return y * y

    found = []
    for full_graph in (None, True):
        net = Net()
        called = net if full_graph is None else paddle.jit.to_static(net, full_graph=True)
        optimizer = paddle.optimizer.SGD(0.01, parameters=net.parameters())
        seen = []
        for step in range(3):
            x = paddle.to_tensor([[1.0, 2.0 + step]], stop_gradient=False)
            called(x).sum().backward()
            optimizer.step()
            optimizer.clear_grad()
            seen.append([round(v, 4) for v in x.grad.tolist()[0]])
        found.append(seen)
    assert [9.0, 9.0] == found[0][0]
    assert found[0] == found[1]


def test_attribute_of_the_layer() -> None:
    """A body may use what `forward` has kept on the layer, and a sublayer's attribute."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.inner = paddle.nn.ReLU()

        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            y = 2 * x
            self.kept = paddle.tanh(y)
            self.inner.kept = paddle.exp(y)
            y.register_hook(self.scale)
            return y * y

        def scale(self, g: paddle.Tensor) -> paddle.Tensor:
            return g * self.kept * self.inner.kept

    assert () == compare(Net, X, rounds=2).differences


def test_two_readers_of_one_object() -> None:
    """Two functions of a body that read different attributes of one object both find theirs."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        kept = types.SimpleNamespace(first=paddle.tanh(y), second=paddle.exp(y))

        def helper(g: paddle.Tensor) -> paddle.Tensor:
            return g * kept.second

        y.register_hook(lambda g: helper(g) * kept.first)
        return y * y

    assert () == compare(forward, X, rounds=2).differences


def test_arguments_in_containers() -> None:
    """Tensors that arrive in lists and dicts are those of the run, and so are the containers."""
    log: list[Any] = []

    def forward(named: dict[str, Any], listed: list[Any]) -> paddle.Tensor:
        y = named["a"] * listed[0]

        def hook(g: paddle.Tensor) -> paddle.Tensor:
            log.append((named["a"].tolist(), len(listed), sorted(named)))
            return g * named["a"] * listed[1]

        y.register_hook(hook)
        return y

    static = paddle.jit.to_static(forward, full_graph=True)
    found = []
    for value in (1.0, 2.0):
        a, b, c = (paddle.to_tensor([v], stop_gradient=False) for v in (value, 3.0, 5.0))
        static({"a": a, "n": 1}, [b, c]).sum().backward()
        found.append((a.grad.tolist(), b.grad.tolist()))
    assert [([15.0], [5.0]), ([30.0], [20.0])] == found
    assert [([1.0], 2, ["a", "n"]), ([2.0], 2, ["a", "n"])] == log


def test_fresh_list_of_each_run() -> None:
    """A list that is passed anew at each call gets what the hooks of its own run append."""

    def forward(x: paddle.Tensor, log: list[Any], deep: dict[str, Any]) -> paddle.Tensor:
        y = 2 * x

        def hook(g: paddle.Tensor) -> paddle.Tensor:
            log.append(g.tolist())
            deep["inner"].append(1)
            deep["n"] = deep.get("n", 0) + 1
            return g * deep["n"]

        y.register_hook(hook)
        return y * y

    static = paddle.jit.to_static(forward, full_graph=True)
    runs = [([], {"inner": []}) for _ in range(3)]
    for step, (log, deep) in enumerate(runs):
        static(paddle.to_tensor([1.0 + step], stop_gradient=False), log, deep).sum().backward()
    assert [
        ([[4.0]], {"inner": [1], "n": 1}),
        ([[8.0]], {"inner": [1], "n": 1}),
        ([[12.0]], {"inner": [1], "n": 1}),
    ] == runs


def test_same_list_at_each_run() -> None:
    """A list that is passed again is the same list: its contents grow over the runs."""

    def forward(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(lambda g: log.append(g.tolist()) or g * len(log))
        return y * y

    static = paddle.jit.to_static(forward, full_graph=True)
    log: list[Any] = []
    found = []
    for _ in range(3):
        x = paddle.to_tensor([1.0], stop_gradient=False)
        static(x, log).sum().backward()
        found.append(x.grad.tolist())
    assert [[8.0], [16.0], [24.0]] == found
    assert [[4.0], [4.0], [4.0]] == log


def test_two_runs_before_one_backward() -> None:
    """With two runs before one backward each run's hook sees its own list."""

    def forward(x: paddle.Tensor, log: list[Any]) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(lambda g: log.append(g.tolist()) or g * len(log))
        return y * y

    static = paddle.jit.to_static(forward, full_graph=True)
    first, second = [0], []
    a, b = (paddle.to_tensor([v], stop_gradient=False) for v in (1.0, 2.0))
    (static(a, first) + static(b, second) * 3).sum().backward()
    assert ([0, [4.0]], [[24.0]]) == (first, second)
    assert ([16.0], [48.0]) == (a.grad.tolist(), b.grad.tolist())


def test_nothing_to_swap() -> None:
    """A hook that reaches no forward value has no places."""
    assert [] == captures.find(lambda g: g * 2)
    assert [] == captures.find(abs)
    assert [] == captures.find(paddle.nn.Linear(2, 2))
    assert [] == captures.find(types.MethodType(functools.partial(max), 3))


def test_recursive_structures() -> None:
    """A structure that contains itself is searched to an end."""
    loop: list[Any] = []
    loop.append(loop)
    found = types.SimpleNamespace(loop=loop)
    found.found = found
    assert [] == captures.find(lambda g: g * found.loop[0].found)


@pytest.mark.parametrize("kind", [set, frozenset])
def test_values_in_a_set(kind: type) -> None:
    """A set can't be filled in place, so the body gets another with the tensors of the run."""

    def in_a_set(x):
        y = x * 2
        kept = kind([y])
        y.register_hook(lambda g: g * next(iter(kept)))
        return y * 3

    report = compare(in_a_set, [5.0])

    assert () == report.differences
    assert [3 * 10.0 * 2] == report.ast.gradients["x0"].tolist()
