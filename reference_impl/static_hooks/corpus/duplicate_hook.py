"""The same function registered twice runs twice."""

from . import Case


def square(gradient):
    """Square the gradient: twice is its fourth power."""
    return gradient * gradient


def twice_on_one_tensor(x):
    """Two registrations, two calls."""
    y = 2 * x
    y.register_hook(square)
    y.register_hook(square)
    return 3 * y


def once_on_each_of_two_tensors(x):
    """One function serves two tensors."""
    a = 2 * x
    b = 3 * a
    a.register_hook(square)
    b.register_hook(square)
    return 2 * b


def twice_and_one_removed(x):
    """Removing one of the two leaves the other."""
    y = 2 * x
    first = y.register_hook(square)
    y.register_hook(square)
    first.remove()
    return 3 * y


def twice_with_effects(x, log):
    """A hook that is called back runs twice too: the two calls are not merged."""

    def mark(gradient):
        log.append(len(log))
        return gradient + len(log)

    y = 2 * x
    y.register_hook(mark)
    y.register_hook(mark)
    return 3 * y


ENTRIES = [
    Case(
        twice_on_one_tensor,
        ([1.0],),
        {"x0": [162.0]},
        calls=[("square", [3.0]), ("square", [9.0])],
    ),
    Case(
        once_on_each_of_two_tensors,
        ([1.0],),
        {"x0": [288.0]},
        calls=[("square", [2.0]), ("square", [12.0])],
    ),
    Case(twice_and_one_removed, ([1.0],), {"x0": [18.0]}, calls=[("square", [3.0])]),
    Case(twice_with_effects, ([1.0],), {"x0": [12.0]}, log=[0, 1]),
]
