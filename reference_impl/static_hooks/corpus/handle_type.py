"""`register_hook` returns a handle of the type that eager mode returns."""

import paddle
from paddle.base.dygraph.tensor_patch_methods import TensorHookRemoveHelper

from . import Case


def of_an_intermediate(x, log):
    """Its type, and that of what `remove` returns."""
    y = 2 * x
    handle = y.register_hook(lambda g: g * g)
    log.append(isinstance(handle, TensorHookRemoveHelper))
    log.append(type(handle.remove()).__name__)
    return 3 * y


def of_an_input(x, log):
    """The same for the caller's tensor."""
    handle = x.register_hook(lambda g: g * g)
    log.append(isinstance(handle, TensorHookRemoveHelper))
    log.append(type(handle.remove()).__name__)
    return 3 * x


def not_kept(x):
    """A handle that nobody keeps does not take its hook with it."""
    y = 2 * x
    y.register_hook(lambda g: g * g)
    z = 3 * y
    del y
    return paddle.exp(z * 0) * z


ENTRIES = [
    Case(of_an_intermediate, ([1.0],), {"x0": [6.0]}, log=[True, "bool"]),
    Case(of_an_input, ([1.0],), {"x0": [3.0]}, log=[True, "bool"]),
    Case(not_kept, ([1.0],), {"x0": [18.0]}),
]
