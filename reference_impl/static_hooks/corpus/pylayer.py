"""Hooks before, after and beside a PyLayer."""

from paddle.autograd import PyLayer

from . import Case


class Tripled(PyLayer):
    """Forward triples; backward multiplies by ten, to be told apart."""

    @staticmethod
    def forward(ctx, x):
        """Triple."""
        return 3 * x

    @staticmethod
    def backward(ctx, gradient):
        """Multiply by ten."""
        return 10 * gradient


def on_its_input(x):
    """The hook sees what the PyLayer's backward returns."""
    y = 2 * x
    y.register_hook(lambda g: g * g)
    return Tripled.apply(y)


def on_its_input_unhooked(x):
    """The same without a hook."""
    return Tripled.apply(2 * x)


def after_a_use_of_its_output(x):
    """The hook is on a tensor made from the PyLayer's output."""
    y = Tripled.apply(2 * x) * 1.0
    z = 5 * y
    y.register_hook(lambda g: g * g)
    return z


def observed_at_its_output(x, log):
    """A hook on the PyLayer's own output that only looks."""
    y = Tripled.apply(2 * x)
    y.register_hook(lambda g: log.append(g.item()))
    return 5 * y


ENTRIES = [
    Case(on_its_input, ([1.0],), {"x0": [200.0]}, control=on_its_input_unhooked),
    Case(after_a_use_of_its_output, ([1.0],), {"x0": [500.0]}, control=on_its_input_unhooked),
    Case(
        observed_at_its_output, ([1.0],), {"x0": [100.0]}, control=on_its_input_unhooked, log=[5.0]
    ),
]
