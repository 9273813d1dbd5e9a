"""Several hooks on a tensor run in the order registered, each on the result of the one before."""

from . import Case


def square(gradient):
    """Square, which commutes with nothing that the other hooks do."""
    return gradient * gradient


def plus_one(gradient):
    """Add one."""
    return gradient + 1


def add_then_square(x):
    """The first adds, the second squares."""
    y = 2 * x
    y.register_hook(plus_one)
    y.register_hook(square)
    return 5 * y


def square_then_add(x):
    """The other order gives another number."""
    y = 2 * x
    y.register_hook(square)
    y.register_hook(plus_one)
    return 5 * y


def three_with_operations_between(x):
    """Operations traced between registrations do not change the order."""
    y = 2 * x
    y.register_hook(plus_one)
    a = 3 * y
    y.register_hook(square)
    b = 4 * y
    y.register_hook(lambda g: g - 2)
    return a + b


def effectful_between_traced(x, log):
    """A hook that is called back sees what the traced one before it made."""
    y = 2 * x
    y.register_hook(square)
    y.register_hook(lambda g: log.append(g.item()))
    y.register_hook(plus_one)
    return 3 * y


ENTRIES = [
    Case(add_then_square, ([1.0],), {"x0": [72.0]}, calls=[("plus_one", [5.0]), ("square", [6.0])]),
    Case(
        square_then_add, ([1.0],), {"x0": [52.0]}, calls=[("square", [5.0]), ("plus_one", [25.0])]
    ),
    Case(
        three_with_operations_between,
        ([1.0],),
        {"x0": [124.0]},
        calls=[("plus_one", [7.0]), ("square", [8.0]), ("<lambda>", [64.0])],
    ),
    Case(effectful_between_traced, ([1.0],), {"x0": [20.0]}, log=[9.0]),
]
