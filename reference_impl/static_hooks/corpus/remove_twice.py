"""`remove()` returns True the first time and False, with a RuntimeWarning, the second."""

import warnings

import paddle

from . import Scenario, converted


def _removed_twice(handle):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answers = [handle.remove(), handle.remove()]
    return [answers, [type(warning.message).__name__ for warning in caught]]


def while_tracing(mode):
    """Both times before the function returns."""
    found = []

    def function(x):
        y = 2 * x
        handle = y.register_hook(lambda g: g * g)
        found.extend(_removed_twice(handle))
        return 3 * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    converted(function, mode)(x).sum().backward()
    return [found, x.grad.tolist()]


def before_backward(mode):
    """Both times between forward and backward."""
    handles = []

    def function(x):
        y = 2 * x
        handles.append(y.register_hook(lambda g: g * g))
        return 3 * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    loss = converted(function, mode)(x).sum()
    found = _removed_twice(handles[-1])
    loss.backward()
    return [found, x.grad.tolist()]


def of_an_input(mode):
    """A hook on the caller's tensor."""
    handles = []

    def function(x):
        handles.append(x.register_hook(lambda g: g * g))
        return 3 * x

    x = paddle.to_tensor([1.0], stop_gradient=False)
    loss = converted(function, mode)(x).sum()
    found = _removed_twice(handles[-1])
    loss.backward()
    return [found, x.grad.tolist()]


ONCE = [[True, False], ["RuntimeWarning"]]
ENTRIES = [
    Scenario(while_tracing, [ONCE, [6.0]]),
    Scenario(before_backward, [ONCE, [6.0]]),
    Scenario(of_an_input, [ONCE, [3.0]]),
]
