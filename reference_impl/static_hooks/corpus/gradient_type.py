"""The body gets what it gets in eager mode: a tensor with the hooked tensor's dtype and shape."""

import paddle

from . import Case


def _look(log):
    def look(gradient):
        log.append([str(gradient.dtype), list(gradient.shape), type(gradient.numpy()).__name__])

    return look


def of_float32(x, log):
    """A matrix in float32."""
    y = 2 * x
    y.register_hook(_look(log))
    return y * y


def of_float64(x, log):
    """A vector in float64."""
    y = x.astype("float64")
    y.register_hook(_look(log))
    return y * y


def of_bfloat16(x, log):
    """A vector in bfloat16."""
    y = x.astype("bfloat16")
    y.register_hook(_look(log))
    return y * y


def of_float16(x, log):
    """A vector in float16."""
    y = x.astype("float16")
    y.register_hook(_look(log))
    return y.astype("float32") * 3


def without_dimensions(x, log):
    """A tensor without dimensions stays one."""
    y = (x * x).sum()
    y.register_hook(_look(log))
    return y * y


def methods(x, log):
    """The methods that eager hooks use."""

    def look(gradient):
        log.append([gradient.item(), gradient.tolist(), float(gradient.sum()), gradient.ndim])
        log.append([isinstance(gradient, paddle.Tensor), gradient.is_leaf, len(gradient)])

    y = 2 * x
    y.register_hook(look)
    return 3 * y


def stop_gradient_flag(x, log):
    """The gradient does not stop gradients, and neither does what is computed from it."""

    def look(gradient):
        log.append([gradient.stop_gradient, (gradient * gradient).stop_gradient])

    y = 2 * x
    y.register_hook(look)
    return 3 * y


def without_autocast(x, log):
    """Automatic mixed precision of the forward pass does not reach the body."""

    def look(gradient):
        log.append(str(paddle.matmul(gradient, gradient).dtype))

    with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
        y = 2 * x
        y.register_hook(look)
        return 3 * y


ENTRIES = [
    Case(of_float32, ([[1.0, 2.0]],), log=[["paddle.float32", [1, 2], "ndarray"]]),
    Case(of_float64, ([1.0],), log=[["paddle.float64", [1], "ndarray"]]),
    Case(of_bfloat16, ([1.0],), log=[["paddle.bfloat16", [1], "ndarray"]]),
    Case(of_float16, ([1.0],), log=[["paddle.float16", [1], "ndarray"]]),
    Case(without_dimensions, ([1.0, 2.0],), log=[["paddle.float32", [], "ndarray"]]),
    Case(methods, ([1.0],), log=[[3.0, [3.0], 3.0, 1], [True, True, 1]]),
    Case(stop_gradient_flag, ([1.0],), log=[[False, False]]),
    Case(without_autocast, ([[1.0, 0.0], [0.0, 1.0]],), log=["paddle.float32"]),
]
