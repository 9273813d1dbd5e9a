"""A body that changes the gradient in place does what it does in eager mode."""

import paddle

from . import Case


def under_no_grad(x):
    """Changed in place while gradients are off: the change counts."""

    def hook(gradient):
        with paddle.no_grad():
            gradient.scale_(3.0)

    y = 2 * x
    y.register_hook(hook)
    return 5 * y


def a_copy(x):
    """Changing a copy leaves the gradient alone."""

    def hook(gradient):
        copy = gradient.clone()
        with paddle.no_grad():
            copy.scale_(3.0)

    y = 2 * x
    y.register_hook(hook)
    return 5 * y


def returned(x):
    """The changed gradient is returned."""

    def hook(gradient):
        with paddle.no_grad():
            gradient.add_(paddle.ones_like(gradient))
        return gradient

    y = 2 * x
    y.register_hook(hook)
    return 5 * y


def setting_an_element(x):
    """An element of a copy is set."""

    def hook(gradient):
        copy = gradient.clone()
        copy[0] = 100.0
        return copy

    y = 2 * x
    y.register_hook(hook)
    return 5 * y


ENTRIES = [
    Case(under_no_grad, ([1.0],), {"x0": [30.0]}),
    Case(a_copy, ([1.0],), {"x0": [10.0]}),
    Case(returned, ([1.0],), {"x0": [12.0]}),
    Case(setting_an_element, ([1.0, 1.0],), {"x0": [200.0, 10.0]}),
]
