"""A hook works on the result of any operation."""

import paddle

from . import Case


def square(gradient):
    """Square the gradient, element by element."""
    return gradient * gradient


def matrix_product(x):
    """Of a matrix product."""
    y = paddle.matmul(x, paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]]))
    y.register_hook(square)
    return y * paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])


def zero_dimensional(x):
    """Of a reduction to a tensor without dimensions."""
    y = (x * x).mean()
    y.register_hook(square)
    return 3 * y


def reshaped(x):
    """Of a reshape: the gradient has the new shape."""
    y = x.reshape([3, 2])
    y.register_hook(lambda g: g * g.sum(axis=0))
    return y * paddle.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def sliced(x):
    """Of a slice: the rest of the input gets nothing."""
    y = x[1:3]
    y.register_hook(square)
    return y * 3


def concatenated(x, w):
    """Of a concatenation of two inputs."""
    y = paddle.concat([x, w])
    y.register_hook(square)
    return y * paddle.to_tensor([2.0, 3.0, 4.0])


def cast(x):
    """Of a cast: the gradient has the new dtype."""
    y = (2 * x).astype("float64")
    y.register_hook(lambda g: g * g.astype("float64"))
    return 3 * y


def softmax(x):
    """Of a softmax."""
    y = paddle.nn.functional.softmax(x)
    y.register_hook(square)
    return y * paddle.to_tensor([1.0, 3.0])


def selected(x):
    """Of a selection between two tensors."""
    y = paddle.where(x > 0, 2 * x, 5 * x)
    y.register_hook(square)
    return 3 * y


def transposed(x):
    """Of a transposition."""
    y = x.t()
    y.register_hook(lambda g: g * paddle.to_tensor([[1.0, 10.0]]))
    return y * 3


def convolution(x):
    """Of a convolution followed by a pooling."""
    y = paddle.nn.functional.conv2d(x, paddle.ones([1, 1, 2, 2]))
    y.register_hook(square)
    return 3 * paddle.nn.functional.max_pool2d(y, 2)


def gathered(x):
    """Of a gather that takes one element twice."""
    y = paddle.gather(x, paddle.to_tensor([0, 0, 1]))
    y.register_hook(square)
    return y * paddle.to_tensor([2.0, 3.0, 4.0])


def dropped_out(x):
    """Of a dropout, which drops the same elements in every mode."""
    y = paddle.nn.functional.dropout(2 * x, 0.5)
    y.register_hook(square)
    return 3 * y


ENTRIES = [
    Case(matrix_product, ([[1.0, 1.0], [1.0, 1.0]],), {"x0": [[9.0, 19.0], [41.0, 91.0]]}),
    Case(zero_dimensional, ([1.0, 2.0],), {"x0": [9.0, 18.0]}),
    Case(
        reshaped,
        ([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],),
        {"x0": [[9.0, 24.0, 27.0], [48.0, 45.0, 72.0]]},
    ),
    Case(sliced, ([1.0, 1.0, 1.0, 1.0],), {"x0": [0.0, 9.0, 9.0, 0.0]}),
    Case(concatenated, ([1.0], [1.0, 1.0]), {"x0": [4.0], "x1": [9.0, 16.0]}),
    Case(cast, ([1.0],), {"x0": [18.0]}, calls=[("<lambda>", [3.0])]),
    Case(softmax, ([0.0, 0.0],), {"x0": [-2.0, 2.0]}, calls=[("square", [1.0, 3.0])]),
    Case(selected, ([1.0, -1.0],), {"x0": [18.0, 45.0]}),
    Case(transposed, ([[1.0], [1.0]],), {"x0": [[3.0], [30.0]]}),
    Case(
        convolution,
        ([[[[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]],),
        {"x0": [[[[9.0, 9.0, 0.0], [9.0, 9.0, 0.0], [0.0, 0.0, 0.0]]]]},
        calls=[("square", [3.0, 0.0, 0.0, 0.0])],
    ),
    Case(dropped_out, ([1.0] * 16,), rounds=2),
    Case(gathered, ([1.0, 1.0],), {"x0": [13.0, 16.0]}),
]
