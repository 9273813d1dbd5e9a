"""A hook and an in-place operation on its tensor."""

import paddle

from . import Case


def before_an_in_place_operation(x):
    """Registered first: the hook stays on the value before the change."""
    y = 2 * x
    y.register_hook(lambda g: g * g)
    y = y.scale_(3.0)
    return 5 * y


def after_an_in_place_operation(x):
    """Registered last: the hook is on the changed value."""
    y = 2 * x
    y = y.scale_(3.0)
    y.register_hook(lambda g: g * g)
    return 5 * y


def without_binding_the_result(x):
    """The name is not bound again, which Paddle's static graph does not follow."""
    y = 2 * x
    y.scale_(3.0)
    y.register_hook(lambda g: g * g)
    return 5 * y


def without_binding_the_result_unhooked(x):
    """The same without a hook."""
    y = 2 * x
    y.scale_(3.0)
    return 5 * y


def activation_in_place(x):
    """An activation that overwrites its input."""
    y = 2 * x
    y = paddle.nn.functional.relu_(y)
    y.register_hook(lambda g: g * g)
    return 5 * y


def an_element_is_set(x):
    """An element is overwritten before the registration."""
    y = 2 * x
    y[0] = 7.0
    y.register_hook(lambda g: g * g)
    return y * y


def an_element_is_set_unhooked(x):
    """The same without a hook."""
    y = 2 * x
    y[0] = 7.0
    return y * y


ENTRIES = [
    Case(before_an_in_place_operation, ([1.0],), {"x0": [450.0]}),
    Case(after_an_in_place_operation, ([1.0],), {"x0": [150.0]}),
    Case(
        without_binding_the_result,
        ([1.0],),
        {"x0": [150.0]},
        control=without_binding_the_result_unhooked,
    ),
    Case(activation_in_place, ([1.0, -1.0],), {"x0": [50.0, 0.0]}),
    Case(an_element_is_set, ([1.0, 1.0],), {"x0": [0.0, 32.0]}, control=an_element_is_set_unhooked),
]
