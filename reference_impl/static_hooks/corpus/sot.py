"""In SOT, Paddle's default mode, a hook breaks no graph: as many graphs as without it."""

import functools

import paddle

from static_hooks.compare import compare

from . import Scenario

SOT_ALONE = dict.fromkeys(("eager", "ast", "program"), "graphs are counted by SOT")


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def _square_plus(gradient, constant):
    return gradient * gradient + constant


def _register(tensor):
    tensor.register_hook(square)


class Squares:
    """A callable object, with a method that is a hook as well."""

    def __call__(self, gradient):
        """Square."""
        return gradient * gradient

    def method(self, gradient):
        """Square."""
        return gradient * gradient


SQUARES = Squares()


def _counted(function):
    """Return graphs, breaks and gradient of a function of one tensor, over two steps."""
    run = compare(function, [1.0], modes=("sot",), rounds=2).sot
    if run.error:
        return run.error
    return [run.graphs, run.breaks, run.gradients["x0"].tolist()]


def unhooked(mode):
    """The function that the others add a hook to."""

    def function(x):
        y = 2 * x
        return 3 * paddle.tanh(y * 0) + 3 * y

    return _counted(function)


def _hooked(hook):
    def function(x):
        y = 2 * x
        y.register_hook(hook)
        return 3 * paddle.tanh(y * 0) + 3 * y

    return _counted(function)


def a_function_of_the_module(mode):
    """A function of the module."""
    return _hooked(square)


def a_bound_method(mode):
    """A bound method."""
    return _hooked(SQUARES.method)


def a_callable_object(mode):
    """An object with `__call__`."""
    return _hooked(SQUARES)


def a_partial(mode):
    """A `functools.partial`."""
    return _hooked(functools.partial(_square_plus, constant=0.0))


def a_lambda(mode):
    """A lambda in the function itself."""

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: g * g)
        return 3 * paddle.tanh(y * 0) + 3 * y

    return _counted(function)


def a_nested_function_that_captures(mode):
    """A nested function that uses a tensor of the frame."""

    def function(x):
        y = 2 * x
        m = y * 0 + 1

        def hook(gradient):
            return gradient * gradient * m

        y.register_hook(hook)
        return 3 * paddle.tanh(y * 0) + 3 * y

    return _counted(function)


def after_the_uses(mode):
    """Registered after the uses, where a break loses a part of the gradient."""

    def function(x):
        y = 2 * x
        out = 3 * paddle.tanh(y * 0) + 3 * y
        y.register_hook(square)
        return out

    return _counted(function)


def in_a_loop(mode):
    """Registered in a Python loop."""

    def function(x):
        y = x
        for k in range(3):
            y = (k + 1) * y
            y.register_hook(square)
        return y

    return _counted(function)


def in_a_helper(mode):
    """Registered by a helper of the module."""

    def function(x):
        y = 2 * x
        _register(y)
        return 3 * paddle.tanh(y * 0) + 3 * y

    return _counted(function)


def kept_and_removed(mode):
    """Two handles kept, one of them removed."""

    def function(x):
        y = 2 * x
        first = y.register_hook(square)
        y.register_hook(square)
        first.remove()
        return 3 * paddle.tanh(y * 0) + 3 * y

    return _counted(function)


def with_effects(mode):
    """A body that has to run in Python."""
    seen = []

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: seen.append(g.item()))
        return 3 * paddle.tanh(y * 0) + 3 * y

    return [_counted(function), seen[:2]]


def beside_a_real_break(mode):
    """A `print` in the frame breaks it in two, with and without hooks."""

    def function(x):
        y = 2 * x
        z = 3 * y
        y.register_hook(square)
        print(end="")  # noqa: T201
        z.register_hook(square)
        return 5 * z

    return _counted(function)


ONE_GRAPH = [1, 0, [36.0]]
ENTRIES = [
    Scenario(unhooked, [1, 0, [12.0]], not_applicable=SOT_ALONE),
    Scenario(a_function_of_the_module, ONE_GRAPH, not_applicable=SOT_ALONE),
    Scenario(a_bound_method, ONE_GRAPH, not_applicable=SOT_ALONE),
    Scenario(a_callable_object, ONE_GRAPH, not_applicable=SOT_ALONE),
    Scenario(a_partial, ONE_GRAPH, not_applicable=SOT_ALONE),
    Scenario(a_lambda, ONE_GRAPH, not_applicable=SOT_ALONE),
    Scenario(a_nested_function_that_captures, ONE_GRAPH, not_applicable=SOT_ALONE),
    Scenario(after_the_uses, ONE_GRAPH, not_applicable=SOT_ALONE),
    Scenario(in_a_loop, [1, 0, [648.0]], not_applicable=SOT_ALONE),
    Scenario(in_a_helper, ONE_GRAPH, not_applicable=SOT_ALONE),
    Scenario(kept_and_removed, ONE_GRAPH, not_applicable=SOT_ALONE),
    Scenario(with_effects, [[1, 0, [12.0]], [3.0, 3.0]], not_applicable=SOT_ALONE),
    Scenario(beside_a_real_break, [2, 1, [22500.0]], not_applicable=SOT_ALONE),
]
