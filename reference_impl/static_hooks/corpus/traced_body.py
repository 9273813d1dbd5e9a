"""A body of tensor operations alone becomes operations of the graph."""

import paddle

import static_hooks

from . import Case, Scenario, converted


def clip_by_norm(x):
    """Scales a gradient whose norm is too large."""

    def hook(gradient):
        norm = (gradient * gradient).sum().sqrt()
        return gradient / paddle.maximum(norm, paddle.ones_like(norm))

    y = 2 * x
    y.register_hook(hook)
    return y * paddle.to_tensor([3.0, 4.0])


def several_operations(x):
    """A longer chain of operations."""
    y = 2 * x
    y.register_hook(lambda g: paddle.tanh(g).abs().sqrt() * 3 + g.mean())
    return y * 0.0


def a_matrix_product(x):
    """The body multiplies matrices."""
    y = 2 * x
    y.register_hook(lambda g: paddle.matmul(g, g))
    return y * paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])


def a_mask_of_the_gradient(x):
    """The body selects by the gradient's own values."""
    y = 2 * x
    y.register_hook(lambda g: paddle.where(g > 2, g * g, paddle.zeros_like(g)))
    return y * paddle.to_tensor([1.0, 2.0, 3.0])


def python_numbers(x):
    """The body uses numbers, a default argument and a local variable."""

    def hook(gradient, offset=4.0):
        square = gradient * gradient
        return square * 2 + offset

    y = 2 * x
    y.register_hook(hook)
    return 3 * y


def reshapes_and_back(x):
    """The body changes the shape in between."""
    y = 2 * x
    y.register_hook(lambda g: (g.reshape([2, 2]).t() * 10 + 1).reshape([4]))
    return y * paddle.to_tensor([1.0, 2.0, 3.0, 4.0])


def forced_to_be_traced(mode):
    """`traced` insists; the result is the same."""

    def square(gradient):
        return gradient * gradient

    static_hooks.traced(square)

    def function(x):
        y = 2 * x
        y.register_hook(square)
        return 3 * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    converted(function, mode)(x).sum().backward()
    return x.grad.tolist()


ENTRIES = [
    Case(clip_by_norm, ([1.0, 1.0],), {"x0": [1.2, 1.6]}),
    Case(several_operations, ([1.0, 1.0],), {"x0": [0.0, 0.0]}),
    Case(a_matrix_product, ([[1.0, 1.0], [1.0, 1.0]],), {"x0": [[14.0, 20.0], [30.0, 44.0]]}),
    Case(a_mask_of_the_gradient, ([1.0, 1.0, 1.0],), {"x0": [0.0, 0.0, 18.0]}),
    Case(python_numbers, ([1.0],), {"x0": [44.0]}),
    Case(reshapes_and_back, ([1.0] * 4,), {"x0": [22.0, 62.0, 42.0, 82.0]}),
    Scenario(forced_to_be_traced, [18.0]),
]
