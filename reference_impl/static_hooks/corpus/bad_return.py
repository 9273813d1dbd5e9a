"""A body that returns a wrong shape or dtype, or no tensor, is a ValueError or TypeError."""

import paddle

from . import Case, Safer

DIES = "eager mode kills the process"


def wrong_shape(x):
    """The new gradient has another shape."""
    y = 2 * x
    y.register_hook(lambda g: paddle.ones([3]))
    return 3 * y


def wrong_rank(x):
    """The new gradient is the old one's sum."""
    y = 2 * x
    y.register_hook(lambda g: g.sum())
    return 3 * y


def wrong_dtype(x):
    """The new gradient has another dtype."""
    y = 2 * x
    y.register_hook(lambda g: g.astype("float64"))
    return 3 * y


def a_number(x):
    """The body returns a number."""
    y = 2 * x
    y.register_hook(lambda g: 1.0)
    return 3 * y


def a_list(x):
    """The body returns a list with a tensor."""
    y = 2 * x
    y.register_hook(lambda g: [g])
    return 3 * y


def an_array(x):
    """The body returns a NumPy array."""
    y = 2 * x
    y.register_hook(lambda g: g.numpy())
    return 3 * y


def a_coroutine(x):
    """The hook is an `async` function."""

    async def hook(gradient):
        return gradient

    y = 2 * x
    y.register_hook(hook)
    return 3 * y


def a_generator(x):
    """The hook is a generator."""

    def hook(gradient):
        yield gradient

    y = 2 * x
    y.register_hook(hook)
    return 3 * y


def not_callable(x):
    """What is registered is no function at all."""
    y = 2 * x
    y.register_hook(3)
    return 3 * y


ENTRIES = [
    Case(
        wrong_shape,
        ([1.0, 2.0],),
        {"x0": [2.0, 2.0, 2.0]},
        safer=Safer("eager mode accepts it and leaves x.grad in that shape", "HookValueError: "),
    ),
    Case(
        wrong_rank,
        ([1.0, 2.0],),
        {"x0": 12.0},
        safer=Safer("eager mode accepts it and leaves x.grad in that shape", "HookValueError: "),
    ),
    Case(
        wrong_dtype,
        ([1.0],),
        error="RuntimeError: (PermissionDenied) The dtype of tensor before(float32) and after",
        safer=Safer("eager mode refuses too, but does not name the hook", "HookValueError: "),
    ),
    Case(a_number, ([1.0],), safer=Safer(DIES, "HookTypeError: "), crashes=True),
    Case(a_list, ([1.0],), safer=Safer(DIES, "HookTypeError: "), crashes=True),
    Case(an_array, ([1.0],), safer=Safer(DIES, "HookTypeError: "), crashes=True),
    Case(a_coroutine, ([1.0],), safer=Safer(DIES, "HookTypeError: "), crashes=True),
    Case(a_generator, ([1.0],), safer=Safer(DIES, "HookTypeError: "), crashes=True),
    Case(
        not_callable,
        ([1.0],),
        error="OSError: (External) TypeError: 'int' object is not callable",
        safer=Safer("eager mode notices it only in backward", "HookTypeError: "),
    ),
]
