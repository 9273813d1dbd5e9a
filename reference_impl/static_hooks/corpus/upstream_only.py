"""A hook changes what flows to the tensor's producers, never to its siblings or its uses."""

from . import Case


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def sibling_untouched(x):
    """Another tensor made from the same input keeps its gradient."""
    a = 2 * x
    b = 3 * x
    a.register_hook(lambda g: g * g + 10)
    return a + b


def other_operand_untouched(x, w):
    """The other operand of the operation that uses the tensor keeps its gradient."""
    y = 2 * x
    z = y * y
    z.register_hook(square)
    return z * w


def two_hooked_siblings(x):
    """Each hook acts on its own path."""
    a = 2 * x
    b = 3 * x
    a.register_hook(square)
    b.register_hook(lambda g: g + 1)
    return 5 * a + 7 * b


def all_producers(x, w):
    """Every operand of the operation that made the tensor gets the changed gradient."""
    y = x * w
    y.register_hook(square)
    return 3 * y


ENTRIES = [
    Case(sibling_untouched, ([1.0],), {"x0": [25.0]}),
    Case(other_operand_untouched, ([1.0], [3.0]), {"x0": [72.0], "x1": [4.0]}),
    Case(two_hooked_siblings, ([1.0],), {"x0": [74.0]}),
    Case(all_producers, ([2.0], [5.0]), {"x0": [45.0], "x1": [18.0]}),
]
