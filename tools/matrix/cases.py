"""Small programs for any Paddle from 2.6 on; `python cases.py NAME` prints what one does."""

# ruff: noqa: D103 - what each case shows is written once, in __main__.py

import os
import sys
import tempfile

os.environ["MIN_GRAPH_SIZE"] = "0"  # read by SOT: it must compile graphs of any size

import harness
import paddle
from paddle.jit.dy2static import convert_to_static


def eager(function):
    return function


def ast(function):
    return paddle.jit.to_static(function, full_graph=True)


def sot(function):
    return paddle.jit.to_static(function, full_graph=False)


def square(g):
    return g * g


def gradient(function):
    """Run forward and backward at 1 and return the gradient of the input."""
    x = paddle.to_tensor([1.0], stop_gradient=False)
    function(x).sum().backward()
    return {"gradient": x.grad.tolist()[0]}


def before(x):
    y = x * 2
    y.register_hook(square)
    return y * 3 + y * 4


def between(x):
    y = x * 2
    a = y * 3
    y.register_hook(square)
    return a + y * 4


SEEN = []


def after(x):  # a function of the module: SOT does not compile one with free variables
    y = x * 2
    out = y * 3 + y * 4
    y.register_hook(SEEN.append)
    return out


def guarded(x):
    y = x * 2
    try:
        y.register_hook(square)
    except AssertionError:
        y = y * 1
    return y * 3 + y * 4


def branching(x, use_hook=False):
    x = x * 3 + 1
    if use_hook:
        x.register_hook(square)
    else:
        x = x * 10
    return x


def clipped(x):
    y = paddle.tanh(x)
    y.register_hook(lambda g: paddle.clip(g, -0.5, 0.5))
    return y * 3


def rebound(x):
    y = x * 3
    x = y + 1
    z = x * x
    x.register_hook(square)
    return z


class Hooked(paddle.nn.Layer):
    """A layer whose forward registers a hook."""

    def forward(self, x):
        """Run the hooked function."""
        return before(x)


class OnParameter(paddle.nn.Layer):
    """A layer whose parameter has a hook since it was made."""

    def __init__(self):
        super().__init__()
        ones = paddle.nn.initializer.Constant(1.0)
        self.linear = paddle.nn.Linear(1, 1, weight_attr=ones, bias_attr=False)
        self.linear.weight.register_hook(square)

    def forward(self, x):
        """Use the parameter twice."""
        return self.linear(x) * 3 + self.linear(x) * 4


class Square(paddle.autograd.PyLayer):
    """An identity operation with a hook for its backward."""

    @staticmethod
    def forward(ctx, x):
        """Copy."""
        return x * 1

    @staticmethod
    def backward(ctx, g):
        """Square the gradient."""
        return g * g


def eager_hook():
    return gradient(eager(between))


def ast_hook():
    return gradient(ast(before))


def ast_late_hook():
    return gradient(ast(between))


def ast_guarded_hook():
    return gradient(ast(guarded))


def sot_hook():
    return gradient(sot(before))


def sot_late_hook():
    return gradient(sot(between))


def sot_hook_after_last_use():
    gradient(sot(after))
    return {"what the hook got": [g if g is None else g.tolist()[0] for g in SEEN]}


def untaken_branch():
    return {"output": ast(branching)(paddle.to_tensor([1.0])).tolist()[0]}


def shared_name():
    return gradient(ast(clipped))


def rebound_name():
    return gradient(convert_to_static(rebound))


def parameter_hook():
    layer = OnParameter()
    ast(layer)(paddle.ones([1, 1])).sum().backward()
    return {"gradient": layer.linear.weight.grad.tolist()[0][0]}


def returned_tensor():
    def two_outputs(x):
        y = x * 2
        return y, y * 3

    x = paddle.to_tensor([1.0], stop_gradient=False)
    y, z = ast(two_outputs)(x)
    y.register_hook(square)
    (y * 4 + z).sum().backward()
    return {"gradient": x.grad.tolist()[0]}


def identity_pylayer():
    def all_uses(x):
        y = Square.apply(x * 2)
        return y * 3 + y * 4

    return gradient(ast(all_uses))


def saving():
    with tempfile.TemporaryDirectory() as folder:
        spec = [paddle.static.InputSpec([1], "float32")]
        paddle.jit.save(ast(Hooked()), f"{folder}/model", input_spec=spec)
    return {"saved": True}


def static_hooks():
    from static_hooks import enable

    enable()
    return gradient(ast(between))


if __name__ == "__main__":
    harness.answer(globals()[sys.argv[1].replace("-", "_")])
