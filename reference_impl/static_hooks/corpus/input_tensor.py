"""A hook on the function's own input is a hook on the caller's tensor."""

import paddle

from . import Case, Scenario, converted

ONE_REGISTRATION = {"program": "a program registers once, when it is built, and not once per call"}


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def before_its_uses(x):
    """Registered first."""
    x.register_hook(square)
    return x * x


def after_its_uses(x):
    """Registered last."""
    out = x * x + 3 * x
    x.register_hook(square)
    return out


def captures_an_intermediate(x):
    """The body uses a value that the function computes later."""
    y = 2 * x
    x.register_hook(lambda g: g * g * y)
    return y


def one_of_two_inputs(x, w):
    """The other input keeps its gradient."""
    w.register_hook(square)
    return 3 * x * w


def stays_registered(x):
    """The second call adds a second hook to the same tensor."""
    x.register_hook(square)
    return 2 * x


def uses_outside_count(mode):
    """The hook sees what flows to the tensor from outside the function too."""

    def function(x):
        x.register_hook(square)
        return 3 * x

    x = paddle.to_tensor([1.0], stop_gradient=False)
    (converted(function, mode)(x) + 5 * x).sum().backward()
    return x.grad.tolist()


def an_intermediate_of_the_caller(mode):
    """The input is no leaf but an intermediate of the caller's own graph."""
    seen = []

    def function(x):
        x.register_hook(lambda g: seen.append(g.item()))
        x.register_hook(square)
        return 3 * x

    x = paddle.to_tensor([1.0], stop_gradient=False)
    h = 2 * x
    (converted(function, mode)(h) + 4 * h).sum().backward()
    return [x.grad.tolist(), seen]


def still_there_after_the_call(mode):
    """A later backward that has nothing to do with the function runs the hook as well."""

    def function(x):
        x.register_hook(square)
        return 3 * x

    x = paddle.to_tensor([1.0], stop_gradient=False)
    converted(function, mode)(x)
    (7 * x).sum().backward()
    return x.grad.tolist()


ENTRIES = [
    Case(before_its_uses, ([3.0],), {"x0": [36.0]}, calls=[("square", [6.0])]),
    Case(after_its_uses, ([3.0],), {"x0": [81.0]}, calls=[("square", [9.0])]),
    Case(captures_an_intermediate, ([3.0],), {"x0": [24.0]}),
    Case(one_of_two_inputs, ([2.0], [5.0]), {"x0": [15.0], "x1": [36.0]}),
    Case(stays_registered, ([1.0],), {"x0": [20.0]}, rounds=2, not_applicable=ONE_REGISTRATION),
    Scenario(uses_outside_count, [64.0]),
    Scenario(an_intermediate_of_the_caller, [[98.0], [7.0]]),
    Scenario(still_there_after_the_call, [49.0]),
]
