"""Each run has variables of its own: a hook's counters and lists start afresh, as in eager mode."""

import functools
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import paddle
import pytest
from static_hooks import UnsupportedHookError, compare

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
    pytest.mark.filterwarnings("ignore:Find variable"),  # Paddle's advice against `log.append`
    pytest.mark.filterwarnings("ignore:paddle.grad has unsupported parameter in jit"),
]


class Counter:
    """Counts the calls of its hook."""

    def __init__(self) -> None:
        self.count = 0
        self.nested = {"count": [0]}

    def hook(self, g: paddle.Tensor) -> paddle.Tensor:
        """Scale by two counts."""
        self.count += 1
        self.nested["count"][0] += 1
        return g * (self.count + self.nested["count"][0])

    def __call__(self, g: paddle.Tensor) -> paddle.Tensor:
        """Be the hook itself."""
        return self.hook(g)


def rebound_variable(x: paddle.Tensor) -> paddle.Tensor:
    """A counter that two registrations of a hook share."""
    count = 0

    def hook(g: paddle.Tensor) -> paddle.Tensor:
        nonlocal count
        count += 1
        return g * count

    y = 2 * x
    z = y * y
    y.register_hook(hook)
    z.register_hook(hook)
    return z


def rebound_by_a_helper(x: paddle.Tensor) -> paddle.Tensor:
    """A counter in a function that two hooks call."""
    count = 0

    def bump() -> int:
        nonlocal count
        count += 1
        return count

    y = 2 * x
    z = y * y
    y.register_hook(lambda g: g * bump())
    z.register_hook(lambda g: g * bump())
    return z


def value_replaced_by_a_tensor(x: paddle.Tensor) -> paddle.Tensor:
    """One hook puts a gradient where a forward value was, another reads it."""
    y = 2 * x
    kept = y
    z = y * y

    def keep(g: paddle.Tensor) -> None:
        nonlocal kept
        kept = g * 3

    z.register_hook(keep)
    y.register_hook(lambda g: g * kept)
    return 5 * z


def fresh_list(x: paddle.Tensor) -> paddle.Tensor:
    """A list that grows."""
    seen: list[int] = []

    def hook(g: paddle.Tensor) -> paddle.Tensor:
        seen.append(1)
        return g * len(seen)

    y = 2 * x
    y.register_hook(hook)
    y.register_hook(hook)
    return y * y


def fresh_containers(x: paddle.Tensor) -> paddle.Tensor:
    """A dict with a list in it, a deque, a set, a namespace."""
    named: dict[str, Any] = {"n": [0]}
    queue, unique = deque([1]), {1}
    space = types.SimpleNamespace(n=0)

    def hook(g: paddle.Tensor) -> paddle.Tensor:
        named["n"][0] += 1
        queue.append(1)
        unique.add(len(unique) + 1)
        space.n += 1
        return g * (named["n"][0] + len(queue) + len(unique) + space.n)

    y = 2 * x
    y.register_hook(hook)
    y.register_hook(hook)
    return y * y


def stack_of_values(x: paddle.Tensor) -> paddle.Tensor:
    """Forward pushes, backward pops."""
    y = 2 * x
    z = y * y
    stack = [paddle.exp(y), paddle.tanh(z)]
    z.register_hook(lambda g: g * stack.pop())
    y.register_hook(lambda g: g * stack.pop())
    return z


def method_of_a_fresh_object(x: paddle.Tensor) -> paddle.Tensor:
    """An object that the function makes, whose method is the hook of two tensors."""
    counter = Counter()
    y = 2 * x
    z = y * y
    y.register_hook(counter.hook)
    z.register_hook(counter.hook)
    return z


def fresh_callable(x: paddle.Tensor) -> paddle.Tensor:
    """An object that the function makes is the hook of two tensors."""
    counter = Counter()
    y = 2 * x
    z = y * y
    y.register_hook(counter)
    z.register_hook(counter)
    return z


def object_in_a_variable(x: paddle.Tensor) -> paddle.Tensor:
    """An object that the function makes, used by a nested hook."""
    counter = Counter()
    y = 2 * x
    y.register_hook(lambda g: counter.hook(g))
    y.register_hook(lambda g: counter.hook(g))
    return y * y


def defaults(x: paddle.Tensor) -> paddle.Tensor:
    """Mutable defaults of nested functions are made anew with the functions."""

    def first(g: paddle.Tensor, seen: list[int] = []) -> paddle.Tensor:  # noqa: B006 - the test
        seen.append(1)
        return g * len(seen)

    def second(g: paddle.Tensor, *, seen: dict[str, int] = {"n": 0}) -> paddle.Tensor:  # noqa: B006
        seen["n"] += 1
        return g * seen["n"]

    y = 2 * x
    y.register_hook(first)
    y.register_hook(second)
    return y * y


def partial_over_a_list(x: paddle.Tensor) -> paddle.Tensor:
    """A list among the arguments of a partial, and one by keyword."""

    def hook(seen: list[int], g: paddle.Tensor, more: list[int]) -> paddle.Tensor:
        seen.append(1)
        more.append(1)
        return g * (len(seen) + 2 * len(more))

    y = 2 * x
    y.register_hook(functools.partial(hook, [], more=[]))
    return y * y


def changed_in_an_if(x: paddle.Tensor) -> paddle.Tensor:
    """Two hooks that change an item in an `if`, and one that reads it."""
    state = {"n": 0}

    def hook(g: paddle.Tensor) -> paddle.Tensor:
        if float(g.sum()) > 0:
            state["n"] += 1
        return g * state["n"]

    def other(g: paddle.Tensor) -> paddle.Tensor:
        if float(g.sum()) > 0:
            state["n"] += 10
        return g * state["n"]

    y = 2 * x
    z = y * y
    y.register_hook(hook)
    z.register_hook(other)
    y.register_hook(lambda g: g + state["n"])
    return z


def on_the_input(x: paddle.Tensor) -> paddle.Tensor:
    """A hook on the input shares a counter with one on an intermediate."""
    count = 0

    def hook(g: paddle.Tensor) -> paddle.Tensor:
        nonlocal count
        count += 1
        return g * count

    y = 2 * x
    y.register_hook(hook)
    x.register_hook(hook)
    return y * y


def for_paddle_grad(x: paddle.Tensor) -> paddle.Tensor:
    """A counter that `paddle.grad` in the function and the backward both raise."""
    count = [0]

    def hook(g: paddle.Tensor) -> paddle.Tensor:
        count[0] += 1
        return g * count[0]

    y = 2 * x
    y.register_hook(hook)
    z = y * y
    (gradient,) = paddle.grad(z.sum(), x, retain_graph=True)
    return z * gradient.detach()


CASES = [
    rebound_variable,
    rebound_by_a_helper,
    value_replaced_by_a_tensor,
    fresh_list,
    fresh_containers,
    stack_of_values,
    method_of_a_fresh_object,
    fresh_callable,
    object_in_a_variable,
    defaults,
    partial_over_a_list,
    changed_in_an_if,
    on_the_input,
    for_paddle_grad,
]


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_each_run_starts_afresh(function: Callable[..., Any]) -> None:
    """Over several steps the state that the function makes starts afresh, as in eager mode."""
    assert () == compare(function, [1.0], rounds=3).differences


def converted(function: Any) -> Any:
    """Convert the whole of a function or Layer."""
    return paddle.jit.to_static(function, full_graph=True)


def step(function: Callable[..., Any]) -> list[float]:
    """Run forward and backward; return the input's gradient."""
    x = paddle.to_tensor([1.0], stop_gradient=False)
    function(x).sum().backward()
    return x.grad.tolist()


def test_two_runs_before_one_backward() -> None:
    """Two runs before one backward do not share their counters."""
    static = converted(rebound_variable)
    a, b = (paddle.to_tensor([1.0], stop_gradient=False) for _ in range(2))
    (static(a) + static(b)).sum().backward()
    assert [[16.0], [16.0]] == [a.grad.tolist(), b.grad.tolist()]


def test_what_comes_from_outside_stays() -> None:
    """A list, an object or a method from outside the function goes on from step to step."""
    total, counter = [0], Counter()
    method, called = Counter().hook, Counter()

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        def hook(g: paddle.Tensor) -> paddle.Tensor:
            total[0] += 1
            return g * total[0]

        y = 2 * x
        for found in (hook, counter.hook, method, called):
            y.register_hook(found)
        return y

    static = converted(forward)
    # at the n-th step n · (2n)³, times 2
    assert [[16.0], [256.0], [1296.0]] == [step(static) for _ in range(3)]
    assert ([3], 3, 3) == (total, counter.count, called.count)


def test_what_the_layer_keeps_stays() -> None:
    """A list of the layer's own, also under a variable's name, goes on from step to step."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.log: list[Any] = []
            self.state = {"n": 0}

        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            log, state = self.log, self.state

            def hook(g: paddle.Tensor) -> paddle.Tensor:
                log.append(g.tolist())
                if float(g.sum()) > 0:
                    state["n"] += 1
                return g * state["n"]

            y = 2 * x
            y.register_hook(hook)
            return y

    net = Net()
    static = converted(net)
    assert [[2.0], [4.0], [6.0]] == [step(static) for _ in range(3)]
    assert ([[1.0]] * 3, {"n": 3}) == (net.log, net.state)


def test_outer_and_inner_state() -> None:
    """A hook with state of both kinds keeps the one and renews the other."""
    total = [0]

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        mine = [0]

        def hook(g: paddle.Tensor) -> paddle.Tensor:
            total[0] += 1
            mine[0] += 1
            return g * (10 * total[0] + mine[0])

        y = 2 * x
        y.register_hook(hook)
        return y

    static = converted(forward)
    assert [[22.0], [42.0], [62.0]] == [step(static) for _ in range(3)]


def test_state_of_a_program() -> None:
    """A plain `paddle.static` program is built once, and so is the state of its hooks."""
    report = compare(fresh_list, [1.0], modes=("program",), rounds=2)
    # 4 · 1 · 2, then 4 · 3 · 4, each times 2
    assert [112.0] == report.program.gradients["x0"].tolist()


@pytest.mark.parametrize("start", [0, [0]])
def test_attributes_of_a_nested_hook_are_new_in_each_run(start: Any) -> None:
    """A hook that counts in an attribute of its own starts afresh, also one in a list."""

    def counting(x):
        y = x * 2

        def hook(g):
            count = hook.count[0] if isinstance(hook.count, list) else hook.count
            hook.count = [count + 1] if isinstance(hook.count, list) else count + 1
            return g * g * (count + 1)

        hook.count = [0] if isinstance(start, list) else 0
        y.register_hook(hook)
        return y * 3

    report = compare(counting, [1.0], rounds=3)

    assert () == report.differences
    assert [3 * 2 * 9.0] == report.ast.gradients["x0"].tolist()


def test_list_in_an_attribute_of_a_nested_hook_is_new_in_each_run() -> None:
    """What the hook appends to it is gone in the next run."""

    def keeping(x):
        y = x * 2

        def hook(g):
            hook.seen.append(1)
            return g * g * len(hook.seen)

        hook.seen = []
        y.register_hook(hook)
        return y * 3

    assert () == compare(keeping, [1.0], rounds=3).differences


def test_iterator_that_the_function_makes_is_refused() -> None:
    """It would go on from run to run, and Python has no copy of it for each."""

    def counting(x):
        y = x * 2
        steps = iter([1.0, 2.0])
        y.register_hook(lambda g: g * next(steps))
        return y * 3

    x = paddle.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(UnsupportedHookError, match=r"but got an iterator \(list_iterator\)"):
        paddle.jit.to_static(counting, full_graph=True)(x)
