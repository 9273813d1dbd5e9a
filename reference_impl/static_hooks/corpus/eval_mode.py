"""In evaluation mode hooks do no harm, and training afterwards works."""

import paddle
from paddle import nn

from . import Scenario, converted


class Net(nn.Layer):
    """A linear layer with a hooked, dropped-out activation."""

    def __init__(self, hooked):
        super().__init__()
        constant = nn.initializer.Constant(0.5)
        self.fc = nn.Linear(1, 1, weight_attr=constant, bias_attr=constant)
        self.dropout = nn.Dropout(0.5)
        self.hooked = hooked

    def forward(self, x):
        """Apply both."""
        h = self.fc(x)
        if self.hooked and not h.stop_gradient:
            h.register_hook(lambda g: g * g)
        return 3 * self.dropout(h)


def outputs_only(mode):
    """Inference under `no_grad`, then a training step without dropout."""
    net = Net(True)
    net.dropout.p = 0.0
    run = converted(net, mode)
    net.eval()
    with paddle.no_grad():
        found = run(paddle.to_tensor([[2.0]])).tolist()
    net.train()
    run(paddle.to_tensor([[2.0]])).sum().backward()
    return [found, net.fc.weight.grad.tolist()]


def _input_gradient(mode, hooked):
    net = Net(hooked)
    net.eval()
    x = paddle.to_tensor([[2.0]], stop_gradient=False)
    out = converted(net, mode)(x)
    out.sum().backward()
    return [out.tolist(), x.grad.tolist()]


def input_gradient(mode):
    """The gradient of the input in evaluation mode, as saliency maps need it."""
    return _input_gradient(mode, True)


def input_gradient_unhooked(mode):
    """The same without a hook."""
    return _input_gradient(mode, False)


def _trained_after_no_grad(mode, hooked):
    net = Net(hooked)
    net.dropout.p = 0.0
    run = converted(net, mode)
    with paddle.no_grad():
        run(paddle.to_tensor([[2.0]]))
    run(paddle.to_tensor([[2.0]])).sum().backward()
    return net.fc.weight.grad.tolist()


def first_call_under_no_grad(mode):
    """The first call traces under `no_grad`; the second one trains."""
    return _trained_after_no_grad(mode, True)


def first_call_under_no_grad_unhooked(mode):
    """The same without a hook."""
    return _trained_after_no_grad(mode, False)


ENTRIES = [
    Scenario(outputs_only, [[[4.5]], [[18.0]]]),
    Scenario(input_gradient, [[[4.5]], [[4.5]]], control=input_gradient_unhooked),
    Scenario(first_call_under_no_grad, [[18.0]], control=first_call_under_no_grad_unhooked),
]
