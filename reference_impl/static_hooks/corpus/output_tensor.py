"""A hook on a returned tensor sees the gradients of its uses inside and outside together."""

import paddle

from . import Case, Scenario, converted


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def returned_alone(x):
    """The hooked tensor is the result."""
    y = 2 * x
    y.register_hook(lambda g: g * g + 8)
    return y


def returned_and_used(x):
    """The hooked tensor is one result, and used for the other."""
    y = 2 * x
    y.register_hook(square)
    return y, y * y


def returned_twice(x):
    """The hooked tensor is returned twice."""
    y = 2 * x
    y.register_hook(square)
    return y, y


def in_a_dict(x):
    """The hooked tensor is a value of the returned dict."""
    y = 2 * x
    y.register_hook(square)
    return {"hidden": y, "loss": (3 * y).sum()}


def used_outside(mode):
    """The caller's uses count: 3 inside, 4 and 5 outside."""

    def function(x):
        y = 2 * x
        y.register_hook(square)
        return y, 3 * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    y, z = converted(function, mode)(x)
    (4 * y + 5 * y + z).sum().backward()
    return x.grad.tolist()


def one_result_unused(mode):
    """Only the result that does not come from the hooked tensor is used: no call."""
    seen = []

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: seen.append(g.item()))
        return y, 3 * x

    x = paddle.to_tensor([1.0], stop_gradient=False)
    converted(function, mode)(x)[1].sum().backward()
    return [x.grad.tolist(), seen]


ENTRIES = [
    Case(returned_alone, ([1.0],), {"x0": [18.0]}, calls=[("<lambda>", [1.0])]),
    Case(returned_and_used, ([1.0],), {"x0": [50.0]}, calls=[("square", [5.0])]),
    Case(returned_twice, ([1.0],), {"x0": [8.0]}, calls=[("square", [2.0])]),
    Case(in_a_dict, ([1.0],), {"x0": [32.0]}, calls=[("square", [4.0])]),
    Scenario(used_outside, [288.0]),
    Scenario(one_result_unused, [[3.0], []]),
]
