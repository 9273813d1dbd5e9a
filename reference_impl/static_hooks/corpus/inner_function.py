"""A hook may be registered in a helper, and be any callable."""

import functools

from . import Case


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def _hooked(tensor, hook):
    tensor.register_hook(hook)
    return tensor


def _square_plus(gradient, constant):
    return gradient * gradient + constant


def _times_square(factor):
    def hook(gradient):
        return gradient * gradient * factor

    return hook


class SquareAndMore:
    """A callable object, with a method that is a hook as well."""

    def __init__(self, constant):
        self.constant = constant

    def __call__(self, gradient):
        """Square and add."""
        return gradient * gradient + self.constant

    def cubed(self, gradient):
        """Cube and add."""
        return gradient * gradient * gradient + self.constant


MORE = SquareAndMore(1.0)


def in_a_nested_function(x):
    """A function nested in the traced one registers on its free variable."""
    y = 2 * x

    def add():
        y.register_hook(square)

    z = 3 * y
    add()
    return z


def in_a_helper_of_the_module(x):
    """A helper of the module gets tensor and hook."""
    y = _hooked(2 * x, square)
    return 3 * y


def through_a_lambda(x):
    """A lambda registers."""
    register = lambda tensor: tensor.register_hook(square)  # noqa: E731
    y = 2 * x
    register(y)
    return 3 * y


def in_a_comprehension(x):
    """A list comprehension registers on several tensors."""
    ys = [2 * x, 3 * x]
    [y.register_hook(square) for y in ys]
    return 5 * ys[0] + 7 * ys[1]


def made_by_a_factory(x):
    """The hook is a closure that another function made."""
    y = 2 * x
    y.register_hook(_times_square(10.0))
    return 3 * y


def a_partial(x):
    """The hook is a `functools.partial`."""
    y = 2 * x
    y.register_hook(functools.partial(_square_plus, constant=4.0))
    return 3 * y


def a_bound_method(x):
    """The hook is a bound method."""
    y = 2 * x
    y.register_hook(MORE.cubed)
    return 3 * y


def a_callable_object(x):
    """The hook is an object with `__call__`."""
    y = 2 * x
    y.register_hook(MORE)
    return 3 * y


def a_method_of_the_tensor_module(x):
    """The hook is a function of Paddle's own."""
    y = 2 * x
    y.register_hook(abs)
    return -3 * y


def in_a_recursion(x):
    """Each level of a recursion registers on its own tensor."""

    def level(tensor, depth):
        tensor = 2 * tensor
        tensor.register_hook(lambda g: g + depth)
        return level(tensor, depth - 1) if depth > 1 else tensor

    return level(x, 3)


ENTRIES = [
    Case(in_a_nested_function, ([1.0],), {"x0": [18.0]}, calls=[("square", [3.0])]),
    Case(in_a_helper_of_the_module, ([1.0],), {"x0": [18.0]}, calls=[("square", [3.0])]),
    Case(through_a_lambda, ([1.0],), {"x0": [18.0]}, calls=[("square", [3.0])]),
    Case(in_a_comprehension, ([1.0],), {"x0": [197.0]}),
    Case(made_by_a_factory, ([1.0],), {"x0": [180.0]}, calls=[("hook", [3.0])]),
    Case(a_partial, ([1.0],), {"x0": [26.0]}, calls=[("_square_plus", [3.0])]),
    Case(a_bound_method, ([1.0],), {"x0": [56.0]}, calls=[("cubed", [3.0])]),
    Case(a_callable_object, ([1.0],), {"x0": [20.0]}, calls=[("SquareAndMore", [3.0])]),
    Case(a_method_of_the_tensor_module, ([1.0],), {"x0": [6.0]}, calls=[("abs", [-3.0])]),
    Case(in_a_recursion, ([1.0],), {"x0": [30.0]}),
]
