"""A hook that returns None leaves the gradient as it is."""

from . import Case


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def returns_none(x):
    """A body that does nothing at all."""
    y = 2 * x
    y.register_hook(lambda g: None)
    return y * y


def observes_only(x, log):
    """A body that only looks, at the gradient of every element."""
    y = 2 * x
    y.register_hook(lambda g: log.append(g.numpy().tolist()))
    return y * y


def between_two_that_replace(x):
    """The hook before it and the one after it meet as if it were not there."""
    y = 2 * x
    y.register_hook(square)
    y.register_hook(lambda g: None)
    y.register_hook(lambda g: g + 1)
    return y * y


def sometimes_none(x):
    """The body decides at each backward whether to replace."""

    def only_large(gradient):
        if float(gradient.max()) > 5:
            return gradient * gradient
        return None

    a = 2 * x
    b = 3 * x
    a.register_hook(only_large)
    b.register_hook(only_large)
    return 4 * a + 7 * b


ENTRIES = [
    Case(returns_none, ([1.0],), {"x0": [8.0]}, calls=[("<lambda>", [4.0])]),
    Case(observes_only, ([1.0, 2.0],), {"x0": [8.0, 16.0]}, log=[[4.0, 8.0]]),
    Case(
        between_two_that_replace,
        ([1.0],),
        {"x0": [34.0]},
        calls=[("square", [4.0]), ("<lambda>", [16.0]), ("<lambda>", [16.0])],
    ),
    Case(sometimes_none, ([1.0],), {"x0": [155.0]}),
]
