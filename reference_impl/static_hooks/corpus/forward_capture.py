"""The body may use forward intermediates, also those computed after the hooked tensor."""

import functools

import paddle
from paddle import nn

from . import NO_PROGRAM, Case


def _scaled(gradient, by):
    return gradient * gradient * by


def a_later_value(x):
    """Computed from the hooked tensor."""
    y = 2 * x
    m = y * y
    y.register_hook(lambda g: g * m)
    return 3 * m


def a_value_bound_later(x):
    """The name that the body reads gets its value after the registration."""
    y = 2 * x
    y.register_hook(lambda g: g * m)
    m = y * y
    return 3 * m


def an_earlier_value(x):
    """Computed before the hooked tensor."""
    a = x * x
    y = 2 * x
    y.register_hook(lambda g: g * a)
    return 3 * y


def another_input(x, w):
    """An input of the function."""
    y = 2 * x
    y.register_hook(lambda g: g * w)
    return 3 * y


def another_input_unhooked(x, w):
    """The same without a hook: AST mode gives an unused input zeros."""
    return 6 * x


def the_hooked_tensor_itself(x):
    """The tensor that is hooked."""
    y = 2 * x
    y.register_hook(lambda g: g * y)
    return 3 * y


def in_a_list(x):
    """Reached through a list that is filled after the registration."""
    kept = []
    y = 2 * x
    y.register_hook(lambda g: g * kept[0])
    kept.append(5 * y)
    return 3 * y


def as_a_default(x):
    """Bound as a default argument."""
    y = 2 * x
    m = 5 * y
    y.register_hook(lambda g, m=m: g * m)
    return 3 * y


def in_a_partial(x):
    """Bound by `functools.partial`."""
    y = 2 * x
    m = 5 * y
    y.register_hook(functools.partial(_scaled, by=m))
    return 3 * y


def by_an_effectful_body(x, log):
    """A body that is called back gets the real values of the captured tensors."""
    y = 2 * x
    m = y * y

    def hook(gradient):
        log.append([m.numpy().tolist(), y.numpy().tolist()])
        return gradient * m

    y.register_hook(hook)
    return 3 * y


def one_result_of_split(x):
    """The other half of the tensor that is hooked."""
    a, b = paddle.split(2 * x, 2)
    a.register_hook(lambda g: g * b)
    return 3 * a


class AParameter(nn.Layer):
    """The body reads a parameter and a buffer of its Layer."""

    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([1], default_initializer=nn.initializer.Constant(2.0))
        self.register_buffer("scale", paddle.to_tensor([10.0]))

    def forward(self, x):
        """Hook an intermediate with a body that needs the Layer."""
        y = self.weight * x
        y.register_hook(lambda g: g * self.weight * self.scale)
        return 3 * y


ENTRIES = [
    Case(a_later_value, ([1.0],), {"x0": [96.0]}),
    Case(a_value_bound_later, ([1.0],), {"x0": [96.0]}),
    Case(an_earlier_value, ([2.0],), {"x0": [24.0]}),
    Case(
        another_input,
        ([1.0], [7.0]),
        {"x0": [42.0], "x1": None},
        control=another_input_unhooked,
    ),
    Case(the_hooked_tensor_itself, ([5.0],), {"x0": [60.0]}),
    Case(in_a_list, ([1.0],), {"x0": [60.0]}),
    Case(as_a_default, ([1.0],), {"x0": [60.0]}),
    Case(in_a_partial, ([1.0],), {"x0": [180.0]}),
    Case(by_an_effectful_body, ([1.0],), {"x0": [24.0]}, log=[[[4.0], [2.0]]]),
    Case(one_result_of_split, ([1.0, 5.0],), {"x0": [60.0, 0.0]}),
    Case(AParameter, ([1.0],), {"x0": [120.0], "weight": [60.0]}, not_applicable=NO_PROGRAM),
]
