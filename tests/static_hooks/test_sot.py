"""Hooks in SOT: one graph where the unhooked function has one, and no break."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import paddle
import pytest
from paddle import nn
from paddle.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache
from static_hooks import HookTypeError, UnsupportedHookError, callback, sot_fallback, traced
from static_hooks.runs import compiling

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
    pytest.mark.filterwarnings("ignore:In static graph mode"),  # of `add_`
]

ONE_GRAPH = {"graphs": 1, "breaks": 0}


@pytest.fixture(autouse=True)
def counts() -> Iterator[dict[str, Any]]:
    """Compile graphs of any size, from empty caches, and count graphs and breaks at the end."""
    sot_fallback.REASONS.clear()
    with compiling() as found:
        yield found


def counted(run: Callable[[], Any]) -> tuple[Any, dict[str, Any], int]:
    """Return what `run` returns, the graphs and breaks of it, and how many frames ran eagerly."""
    with compiling() as found:
        result = run()
        frames = [code for codes, _ in OpcodeExecutorCache().cache.values() for code, _ in codes]
    return result, dict(found), sum(code.code is None for code in frames)


def gradient(function: Callable[..., Any], *arguments: Any, start: Any = (1.0, 2.0)) -> list[Any]:
    """Return the gradient of the input after one step."""
    x = paddle.to_tensor(list(start), stop_gradient=False)
    function(x, *arguments).sum().backward()
    return x.grad.tolist()


def sot(function: Any) -> Any:
    """Convert as `to_static` does by default."""
    return paddle.jit.to_static(function, full_graph=False)


def square(g: paddle.Tensor) -> paddle.Tensor:
    """Square the gradient."""
    return g * g


def square_root_of_square(g: paddle.Tensor) -> paddle.Tensor:
    """Return the absolute value of the gradient."""
    return (g * g).sqrt()


def scaled(k: Any, g: paddle.Tensor) -> paddle.Tensor:
    """Scale the square of the gradient."""
    return g * g * k


class Scale:
    """A hook that is an object."""

    def __init__(self, k: Any) -> None:
        self.k = k

    def __call__(self, g: paddle.Tensor) -> paddle.Tensor:
        """Scale the square of the gradient."""
        return g * g * self.k


SCALE = Scale(3.0)


def module_level(x: Any) -> Any:
    """Hook with a function of the module."""
    y = x * 2
    y.register_hook(square)
    return y * y


def a_lambda(x: Any) -> Any:
    """Hook with a lambda."""
    y = x * 2
    y.register_hook(lambda g: g * g)
    return y * y


def nested(x: Any) -> Any:
    """Hook with a nested function that counts."""
    count = 0

    def hook(g: Any) -> Any:
        nonlocal count
        count += 1
        return g * g * count

    y = x * 2
    y.register_hook(hook)
    return y * y


def decorated(x: Any) -> Any:
    """Register by a decorator."""
    y = x * 2

    @y.register_hook
    def hook(g: Any) -> Any:
        return g * g

    return y * y


def partial_with_a_tensor(x: Any) -> Any:
    """Hook with a partial that holds an intermediate."""
    y = x * 2
    y.register_hook(functools.partial(scaled, y * 0 + 1))
    return y * y


def an_object(x: Any) -> Any:
    """Hook with an object of the module, whose factor of 3 is undone."""
    y = x * 2
    y.register_hook(SCALE)
    y.register_hook(lambda g: g / 3.0)
    return y * y


def an_object_made_here(x: Any) -> Any:
    """Hook with an object that the function makes."""
    y = x * 2
    y.register_hook(Scale(1.0))
    return y * y


def an_object_made_of_a_tensor(x: Any) -> Any:
    """Hook with an object that holds an intermediate."""
    y = x * 2
    y.register_hook(Scale(y * 0 + 1))
    return y * y


def in_a_helper(x: Any) -> Any:
    """Register in a nested function, on its free variable."""

    def register() -> None:
        y.register_hook(lambda g: g * g)

    y = x * 2
    register()
    return y * y


def nested_twice(x: Any) -> Any:
    """Hook in a function in a function with a lambda that reads a global."""

    def outer(y: Any) -> Any:
        def inner() -> None:
            y.register_hook(lambda g: paddle.square(g))

        inner()
        return y

    y = outer(x * 2)
    return y * y


def in_a_loop_with_closures(x: Any) -> Any:
    """Register in a loop a lambda that captures the loop's tensor."""
    factor = 1.0
    for _ in range(1):
        y = x * 2
        y.register_hook(lambda g: g * g * factor)
    return y * y


def in_a_comprehension(x: Any) -> Any:
    """Register in a comprehension, on items of a list."""
    ys = [x * 2]
    [y.register_hook(lambda g: g * g) for y in ys]
    return ys[0] * ys[0]


def marked(x: Any) -> Any:
    """Hook with functions that decorators mark."""

    @callback
    def called(g: Any) -> Any:
        return g * g

    @traced
    def joined(g: Any) -> Any:
        return g * 1.0

    y = x * 2
    y.register_hook(called)
    y.register_hook(joined)
    y.register_hook(callback(square_root_of_square))
    return y * y


FORMS = [
    module_level, a_lambda, nested, decorated, marked, partial_with_a_tensor, an_object,
    an_object_made_here, an_object_made_of_a_tensor, in_a_helper, nested_twice,
    in_a_loop_with_closures, in_a_comprehension,
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_each_form_of_hook_compiles_to_one_graph(form: Callable[..., Any]) -> None:
    """Whatever the hook is, there is one graph, no break, and no frame runs eagerly."""
    found, graphs, eager = counted(lambda: gradient(sot(form)))
    assert ([32.0, 128.0], ONE_GRAPH, 0) == (found, graphs, eager)


def test_the_unhooked_twin_compiles_to_as_many_graphs() -> None:
    """The count that the other tests expect is that of the function without its hook."""
    assert ONE_GRAPH == counted(lambda: gradient(sot(lambda x: (x * 2) * (x * 2))))[1]


def test_an_intermediate_gets_the_gradient_of_all_uses_whenever_it_is_hooked() -> None:
    """A hook that is registered after a use sees that use too, unlike Paddle's graph break."""

    def late(x: Any) -> Any:
        y = x * 2
        z = y * y
        y.register_hook(square)
        return y + z

    assert ([50.0, 162.0], ONE_GRAPH) == counted(lambda: gradient(sot(late)))[:2]


def test_a_closure_sees_the_last_value_of_a_variable() -> None:
    """Variables of the function are read when backward runs, as in eager mode."""

    def late(x: Any) -> Any:
        factor: Any = 1.0
        y = x * 2
        y.register_hook(lambda g: g * factor)
        factor = y + 1
        return y * 1.0

    assert ([6.0, 10.0], ONE_GRAPH) == counted(lambda: gradient(sot(late)))[:2]


def test_a_registration_that_is_passed_in_runs_eagerly() -> None:
    """`register_hook` may come into a function as an object; what it registers is right."""

    def function(x: Any, register: Any, k: float) -> Any:
        register(lambda g: g * g * k)
        return x * 3

    static, found = sot(function), []
    for k in (1.0, 2.0):
        y = paddle.to_tensor([1.0], stop_gradient=False)
        x = y * 2
        (static(x, x.register_hook, k) + x).backward()
        found.append(y.grad.tolist())
    assert [[32.0], [64.0]] == found
    assert "comes from outside" in sot_fallback.REASONS[-1].why


class Made:
    """An object with a constructor that SOT can't simulate."""

    def __new__(cls, k: Any) -> Any:
        """Make one."""
        return object.__new__(cls)

    def __init__(self, k: Any) -> None:
        self.k = k

    def __call__(self, g: Any) -> Any:
        """Scale the square of the gradient."""
        return g * g * self.k


def test_a_break_between_a_method_and_its_call_loses_nothing() -> None:
    """What breaks the graph in the arguments of `register_hook` comes after a use of its tensor."""

    def function(x: Any) -> Any:
        y = x * 2
        z = y * y
        y.register_hook(Made(y))
        return z + y

    assert gradient(function) == gradient(sot(function))
    assert "used before a graph break" in sot_fallback.REASONS[-1].why


def test_traced_hooks_may_share_a_variable() -> None:
    """Several `@traced` hooks that capture one variable are all traced, with its last value."""

    def function(x: Any) -> Any:
        for _ in range(2):
            x = x * 2

            @traced
            def hook(g: Any) -> Any:
                return g * g * x  # noqa: B023 - the variable that they share

            x.register_hook(hook)
        return x * 1.0

    right = gradient(function)
    assert (right, ONE_GRAPH, 0) == counted(lambda: gradient(sot(function)))


def test_the_caller_gets_the_list_that_the_hook_fills() -> None:
    """A list made in the function is one object for its hook and for its caller, at each call."""

    def function(x: Any) -> Any:
        seen: list[Any] = []
        y = x * 2
        y.register_hook(lambda g: seen.append(g.tolist()))
        return y * y, seen

    def two_runs() -> list[Any]:
        static = sot(function)
        runs = []
        for value in (1.0, 2.0):
            out, seen = static(paddle.to_tensor([value], stop_gradient=False))
            out.sum().backward()
            runs.append(seen)
        return runs

    assert ([[[4.0]], [[8.0]]], ONE_GRAPH) == counted(two_runs)[:2]


def test_cells_of_outer_functions_are_the_very_cells() -> None:
    """What an outer function binds after forward is seen at backward; a counter counts there."""
    factor, calls = 2.0, 0

    def function(x: Any) -> Any:
        def hook(g: Any) -> Any:
            nonlocal calls
            calls += 1
            return g * factor

        y = x * 2
        y.register_hook(hook)
        return y * 1.0

    x = paddle.to_tensor([1.0], stop_gradient=False)
    out = sot(function)(x)
    factor = 7.0
    out.backward()
    assert ([14.0], 1) == (x.grad.tolist(), calls)


def test_runs_do_not_share_their_hooks() -> None:
    """Two calls before one backward: each hook works with the state of its own call."""

    def function(x: Any, tag: Any, log: list[Any]) -> Any:
        y = x * 2
        y.register_hook(lambda g: log.append((tag[0], g.tolist())))
        return y * 1.0

    static, log = sot(function), []  # type: tuple[Any, list[Any]]
    x = paddle.to_tensor([1.0], stop_gradient=False)
    static(static(x, ["inner"], log), ["outer"], log).backward()
    assert [("outer", [1.0]), ("inner", [2.0])] == log


def test_hooks_on_inputs_and_parameters_see_all_uses() -> None:
    """A tensor from outside is hooked as in eager mode: with uses outside the graph, for good."""

    class Net(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(1, 1, nn.initializer.Constant(1.0), bias_attr=False)

        def forward(self, x: Any) -> Any:
            x.register_hook(square)
            self.fc.weight.register_hook(lambda g: g * 2)
            return self.fc(x)

    def two_steps() -> list[Any]:
        net, found = Net(), []
        static = sot(net)
        for _ in range(2):
            x = paddle.to_tensor([[1.0]], stop_gradient=False)
            (static(x) + 2 * x).sum().backward()
            found.append((x.grad.tolist(), net.fc.weight.grad.tolist()))
            net.clear_gradients()
        return found

    right = [([[9.0]], [[2.0]]), ([[9.0]], [[4.0]])]
    assert (right, ONE_GRAPH) == counted(two_steps)[:2]


def test_a_handle_acts_on_its_own_run() -> None:
    """A returned handle removes the hook from its run; the next run registers anew."""

    def function(x: Any) -> Any:
        y = x * 2
        return y * y, y.register_hook(square)

    def three_runs() -> list[Any]:
        static, found = sot(function), []
        for is_removed in (False, True, False):
            x = paddle.to_tensor([1.0], stop_gradient=False)
            out, handle = static(x)
            if is_removed:
                found.append(handle.remove())
            out.sum().backward()
            found.append(x.grad.tolist())
        return found

    assert ([[32.0], True, [8.0], [32.0]], ONE_GRAPH) == counted(three_runs)[:2]


def test_a_hook_that_removes_itself_runs_once() -> None:
    """Removal inside the body works on intermediates and on inputs, where eager mode dies."""

    def function(x: Any, log: list[str]) -> Any:
        def once(g: Any) -> Any:
            log.append(f"{on_y.remove()}")
            return g * g

        def input_once(g: Any) -> Any:
            log.append(f"{on_x.remove()}")
            return g * g

        y = x * 2
        on_y = y.register_hook(once)
        on_x = x.register_hook(input_once)
        return y * 1.0

    log: list[str] = []
    assert ([4.0, 4.0], ["True", "True"]) == (gradient(sot(function), log), log)


def test_handles_kept_in_a_list_may_be_removed_in_the_function() -> None:
    """A handle that leaves the function after `remove` says that there is nothing to remove."""

    def function(x: Any) -> Any:
        y = x * 2
        handles = [y.register_hook(square) for _ in range(2)]
        handles[0].remove()
        return y * y, handles

    def run() -> Any:
        x = paddle.to_tensor([1.0], stop_gradient=False)
        out, handles = sot(function)(x)
        out.sum().backward()
        with pytest.warns(RuntimeWarning, match="'square' registered at .* does not exist"):
            return x.grad.tolist(), [handle.remove() for handle in handles]

    assert (([32.0], [False, True]), ONE_GRAPH, 0) == counted(run)


def test_handles_in_the_frame() -> None:
    """`remove` in the function undoes the registration; a second time it says so."""

    def function(x: Any, log: list[Any]) -> Any:
        y = x * 2
        handle = y.register_hook(lambda g: g * 5)
        y.register_hook(square)
        log.extend([handle.remove(), handle.remove()])
        return y * y

    log: list[Any] = []
    assert ([32.0, 128.0], [True, False]) == (gradient(sot(function), log), log)


def test_a_changed_hook_is_honoured() -> None:
    """A hook on an attribute may be exchanged, removed or become another kind between calls."""

    class Net(nn.Layer):
        hook: Any = None

        def forward(self, x: Any) -> Any:
            y = x * 2
            if self.hook is not None:
                y.register_hook(self.hook)
            return y * y

        def cube(self, g: Any) -> Any:
            return g * g * g

    net = Net()
    static, found = sot(net), []
    hooks = [None, square, lambda g: g * 3, net.cube, functools.partial(scaled, 2.0), Scale(5.0)]
    for net.hook in hooks:
        found.append(gradient(static, start=[1.0]))
    assert [[8.0], [32.0], [24.0], [128.0], [64.0], [160.0]] == found


def test_a_new_hook_at_each_call_does_not_recompile() -> None:
    """A hook that is an argument is taken as it comes, more often than SOT would recompile."""

    def function(x: Any, hook: Any) -> Any:
        y = x * 2
        y.register_hook(hook)
        return y * 1.0

    def thirty_calls() -> list[Any]:
        static = sot(function)
        return [gradient(static, lambda g, k=k: g * k, start=[1.0]) for k in range(30)]

    assert ([[2.0 * k] for k in range(30)], ONE_GRAPH) == counted(thirty_calls)[:2]


def test_a_graph_break_keeps_hooks_right_on_both_sides() -> None:
    """A break of another kind costs what it costs without hooks."""

    def function(x: Any) -> Any:
        y = x * 2
        y.register_hook(square)
        z = y + 1
        print(end="")  # noqa: T201 - the break
        w = z * 3
        w.register_hook(square)
        return w * w

    found, graphs, _ = counted(lambda: gradient(sot(function), start=[0.1]))
    assert ({"graphs": 2, "breaks": 1}, []) == (graphs, list(sot_fallback.REASONS))
    assert gradient(function, start=[0.1]) == pytest.approx(found)


def late_after_a_break(x: Any) -> Any:
    """Hook after a break what was used before it."""
    y = x * 2
    z = y * y
    print(end="")  # noqa: T201 - the break
    y.register_hook(square)
    return y + z


def changed_in_place(x: Any) -> Any:
    """Change a tensor in place."""
    y = x * 2
    y.register_hook(square)
    z = y * 3
    z.add_(x)
    return z * z


def element_set(x: Any) -> Any:
    """Set an element of a tensor."""
    y = x * 2
    y.register_hook(square)
    y[0] = 5.0
    return y * y


def differentiated_inside(x: Any) -> Any:
    """Differentiate in the function."""
    y = x * 2
    y.register_hook(square)
    return y * y + paddle.grad((y * y).sum(), [x], retain_graph=True)[0]


def broken_in_a_loop(x: Any) -> Any:
    """Break the graph in a loop, which SOT can't simulate, hooks or not."""
    for _ in range(2):
        x = x * 2
        x.register_hook(square)
        print(end="")  # noqa: T201 - the break
    return x * 1.0


FALLBACKS = {
    broken_in_a_loop: "SOT can't simulate it: Encountered BreakGraphError during FOR_ITER",
    late_after_a_break: "used before a graph break may be hooked after it",
    changed_in_place: "in-place changes (add_)",
    element_set: "in-place changes (setitem)",
    differentiated_inside: "differentiates inside the function",
}


@pytest.mark.parametrize("function", FALLBACKS, ids=lambda function: function.__name__)
def test_what_a_graph_gets_wrong_runs_eagerly_and_says_why(function: Callable[..., Any]) -> None:
    """The numbers are eager's, nothing is compiled, and the reason is at hand with its line."""
    found, graphs, _ = counted(lambda: gradient(sot(function)))
    assert (gradient(function), 0) == (found, graphs["graphs"])
    assert FALLBACKS[function] in sot_fallback.REASONS[-1].why
    assert str(sot_fallback.REASONS[-1]).startswith(f"{__file__}:")


class Block(nn.Layer):
    """Registers a hook, in a graph of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = 2.0

    def forward(self, x: Any) -> Any:
        """Return two results, one made of the other."""
        y = x * self.gain
        z = y * y
        y.register_hook(square)
        return z


class Blocks(nn.Layer):
    """Calls blocks in a loop that SOT can't simulate."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.LayerList([Block(), Block()])

    def forward(self, x: Any) -> Any:
        """Print between the blocks."""
        for block in self.blocks:
            x = block(x)
            print(end="")  # noqa: T201 - the break
        return x * 1.0


def test_blocks_compile_where_the_frame_that_calls_them_can_not() -> None:
    """A frame that registers no hook itself may run eagerly; the frames of its blocks compile."""
    found, graphs, _ = counted(lambda: gradient(sot(Blocks()), start=[0.5]))
    assert ([8192.0], 1) == (found, graphs["graphs"])


def test_the_caller_of_a_function_without_hooks_gets_what_paddle_gives() -> None:
    """A tensor that a graph without hooks returned and used is hooked outside as in Paddle."""

    def function(x: Any) -> Any:
        y = x * 2
        return y, y * 3

    x = paddle.to_tensor([1.0], stop_gradient=False)
    y, z = sot(function)(x)
    y.register_hook(square)
    (y * 4 + z).backward()
    assert [38.0] == x.grad.tolist()


def test_a_gradient_that_a_block_keeps_inside_is_refused() -> None:
    """What a block of its own returned and used can't be hooked by the next: it says so."""

    def shares(x: Any) -> Any:
        y = x * 2
        return y, y * y

    def hooks(y: Any) -> Any:
        y.register_hook(square)
        return y * 3

    def function(x: Any) -> Any:
        for _ in range(1):
            y, z = shares(x)
            print(end="")  # noqa: T201 - the break
            x = hooks(y) + z
        return x

    with pytest.raises(UnsupportedHookError, match=r"must not be used or hooked .*test_sot\.py:"):
        gradient(sot(function))


def test_evaluation_mode_runs_eagerly() -> None:
    """Paddle compiles no backward in evaluation mode; training afterwards compiles."""

    class Net(nn.Layer):
        def forward(self, x: Any) -> Any:
            y = x * 2
            y.register_hook(square)
            return y * y

    net = Net()
    static = sot(net)
    net.eval()
    found, graphs, eager = counted(lambda: gradient(static, start=[1.0]))
    assert ([32.0], 0, 1) == (found, graphs["graphs"], eager)
    net.train()
    assert ([32.0], ONE_GRAPH) == counted(lambda: gradient(static, start=[1.0]))[:2]


def test_a_first_call_without_gradients_leaves_later_ones_their_hooks() -> None:
    """A frame that may register a hook is compiled anew when gradients are switched on."""

    def function(x: Any) -> Any:
        y = x * 2
        if not y.stop_gradient:
            y.register_hook(square)
        return y * y

    static = sot(function)
    with paddle.no_grad():
        static(paddle.to_tensor([1.0], stop_gradient=False))
    assert [32.0] == gradient(static, start=[1.0])


def test_a_tensor_without_gradient_is_refused_in_eager_words() -> None:
    """Registering on a tensor that stops gradients raises what eager mode raises."""

    def function(x: Any) -> Any:
        y = x.detach() * 2
        y.register_hook(square)
        return y

    with pytest.raises(RuntimeError, match="Cannot register hook on a tensor that stop gradient"):
        sot(function)(paddle.to_tensor([1.0], stop_gradient=False))


def test_no_gradient_no_call_with_several_outputs() -> None:
    """Backward from one output calls no hook that only another output leads to."""

    def function(x: Any, log: list[str]) -> Any:
        y, z = x * 2, x * 3
        y.register_hook(lambda g: log.append("y"))
        z.register_hook(lambda g: g + 1)
        return y * y, z * z

    log: list[str] = []
    x = paddle.to_tensor([1.0], stop_gradient=False)
    sot(function)(x, log)[0].sum().backward()
    assert ([8.0], ["y"]) == (x.grad.tolist(), log)


def test_no_gradient_no_call_on_an_input() -> None:
    """An input that the graph takes for nothing gets no zeros, and its hook no call."""

    def function(x: Any, y: Any, log: list[str]) -> Any:
        x.register_hook(lambda g: log.append("x"))
        paddle.tanh(x)
        return y * y

    log: list[str] = []
    x, y = (paddle.to_tensor([1.0], stop_gradient=False) for _ in range(2))
    sot(function)(x, y, log).backward()
    assert (None, [2.0], []) == (x.grad, y.grad.tolist(), log)


def test_no_gradient_no_call_on_an_input_of_an_unused_output() -> None:
    """A hook on an input is not called when no output that depends on it is used."""

    def function(x: Any, y: Any, log: list[str]) -> Any:
        x.register_hook(lambda g: log.append("x"))
        y.register_hook(lambda g: log.append("y"))
        return paddle.tanh(x), y * y

    log: list[str] = []
    x, y = (paddle.to_tensor([1.0], stop_gradient=False) for _ in range(2))
    sot(function)(x, y, log)[1].backward()
    assert ([2.0], ["y"]) == (y.grad.tolist(), log)


def test_no_gradient_no_call_before_a_graph_break() -> None:
    """A tensor that the graph after a break takes for nothing gets no zeros either."""

    def function(x: Any, y: Any, log: list[str]) -> Any:
        z = x * 2
        z.register_hook(lambda g: log.append("z"))
        print(end="")  # noqa: T201 - the break
        paddle.tanh(z)
        return y * y

    log: list[str] = []
    x, y = (paddle.to_tensor([1.0], stop_gradient=False) for _ in range(2))
    sot(function)(x, y, log).backward()
    assert (None, [2.0], []) == (x.grad, y.grad.tolist(), log)


def test_an_exception_keeps_its_type() -> None:
    """An exception of a body reaches the caller with a note, and the next step works."""

    def function(x: Any, is_bad: list[bool]) -> Any:
        def hook(g: Any) -> Any:
            if is_bad[0]:
                raise KeyError("mine")
            return g * g

        y = x * 2
        y.register_hook(hook)
        return y * y

    static = sot(function)
    with pytest.raises(KeyError, match="mine") as caught:
        gradient(static, [True], start=[1.0])
    assert "registered at" in caught.value.__notes__[0]
    assert [32.0] == gradient(static, [False], start=[1.0])


def test_errors_name_the_hook_of_the_run() -> None:
    """A graph that several hooks share names the one that failed, and not the first."""

    def model(x: paddle.Tensor, hook: Callable[..., Any]) -> paddle.Tensor:
        y = 2 * x
        y.register_hook(hook)
        return 3 * y

    def total(g: paddle.Tensor) -> paddle.Tensor:
        seen.append(g)
        return g.sum()

    seen: list[paddle.Tensor] = []
    static = sot(model)
    gradient(static, seen.append)
    with pytest.raises(ValueError, match="total' must return") as caught:
        gradient(static, total)
    assert "total', registered at" in caught.value.__notes__[0]


@pytest.mark.parametrize("hook", [3, None, "text"])
def test_a_hook_that_is_not_callable_is_refused(hook: Any) -> None:
    """What can't be called is refused where it is registered, not in backward."""

    def function(x: Any, hook: Any) -> Any:
        y = x * 2
        y.register_hook(hook)
        return y * y

    with pytest.raises(HookTypeError, match="hook must be callable"):
        gradient(sot(function), hook)


def test_second_order_through_a_hooked_graph_is_refused() -> None:
    """Paddle's graph would give zeros, without a word."""
    x = paddle.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(UnsupportedHookError, match="create_graph must be False"):
        paddle.grad(sot(a_lambda)(x).sum(), [x], create_graph=True)


def test_a_second_backward_is_refused_in_words() -> None:
    """Paddle frees what a graph's backward needs, whatever `retain_graph` says."""
    out = sot(a_lambda)(paddle.to_tensor([1.0], stop_gradient=False)).sum()
    out.backward(retain_graph=True)
    with pytest.raises(UnsupportedHookError, match=r"must run once .*test_sot\.py:\d+.*, but ran"):
        out.backward()


@pytest.mark.parametrize("method", ["register_hook", "retain_grads"])
def test_a_gradient_that_is_partly_inside_can_not_be_watched_from_outside(method: str) -> None:
    """A returned tensor that the graph uses itself says so; one that it does not use is free."""

    def function(x: Any) -> Any:
        y = x * 2
        y.register_hook(square)
        return y, y * y

    used, free = sot(function)(paddle.to_tensor([1.0], stop_gradient=False))
    arguments = [square] if method == "register_hook" else []
    with pytest.raises(UnsupportedHookError, match=f"Tensor.{method}: the tensor must not be used"):
        getattr(used, method)(*arguments)
    getattr(free, method)(*arguments)


def test_a_run_dies_with_its_tensors() -> None:
    """Nothing keeps a run's hooks, and what they capture, alive after its tensors are gone."""

    class Payload:
        pass

    def function(x: Any, payload: Any) -> Any:
        y = x * 2
        m = y + 1
        y.register_hook(lambda g: (payload, g * m)[1])
        return y * y

    static, watched = sot(function), []
    for _ in range(3):
        payload = Payload()
        watched.append(weakref.ref(payload))
        gradient(static, payload)
        del payload
    static(paddle.to_tensor([1.0, 2.0], stop_gradient=False), None)  # Paddle keeps the last call's
    gc.collect()
    assert [None] * 3 == [reference() for reference in watched]


def test_variables_of_an_outer_function_beside_captured_ones() -> None:
    """A hook reads the outer variable that it names, also where another hook captures a value."""
    first, second = [5.0], [7.0]

    def scaling(k: list[float]) -> Callable[..., Any]:
        def hook(g: paddle.Tensor) -> paddle.Tensor:
            return g * g * k[0]

        return hook

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = x * len(first)
        y.register_hook(scaling(second))
        v = x * 3
        y.register_hook(lambda g: g * v)
        return y * 2

    run = functools.partial(gradient, sot(forward))
    assert ([84.0, 168.0], ONE_GRAPH, 0) == counted(run)  # 2 * 2 * 7, times v


class Slotted:
    """A hook that is an object with slots."""

    __slots__ = ("k",)

    def __init__(self, k: Any) -> None:
        self.k = k

    def __call__(self, g: paddle.Tensor) -> paddle.Tensor:
        """Scale the square of the gradient."""
        return g * g * self.k


def test_object_with_slots() -> None:
    """A hook may be an object with slots that the frame makes, and that holds a tensor."""

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = x * 2
        y.register_hook(Slotted(y))
        return y * 3

    run = functools.partial(gradient, sot(forward))
    assert ([36.0, 72.0], ONE_GRAPH, 0) == counted(run)  # 3 * 3 * y, times 2


def test_hook_of_a_converted_function() -> None:
    """A static function inside another registers a hook that reads its outer variable."""
    seen: list[float] = []

    def inner(x: paddle.Tensor) -> paddle.Tensor:
        y = x * 2
        y.register_hook(lambda g: seen.append(float(g.sum())) or g * g)
        return y

    static = sot(inner)

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        return static(x) * 3

    run = functools.partial(gradient, sot(forward))
    assert ([18.0, 18.0], ONE_GRAPH, 0) == counted(run)  # 3 * 3, times 2
    assert [6.0] == seen
