"""A hook may be registered in sublayers and in a Layer's forward hooks."""

import paddle
from paddle import nn

from . import NO_PROGRAM, Case


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def _linear(inputs, outputs, value=0.5):
    constant = nn.initializer.Constant(value)
    return nn.Linear(inputs, outputs, weight_attr=constant, bias_attr=constant)


class Inner(nn.Layer):
    """Registers on an intermediate of its own."""

    def forward(self, x):
        """Double, hook, square."""
        y = 2 * x
        y.register_hook(square)
        return y * y


class InASublayer(nn.Layer):
    """The sublayer of a Layer registers."""

    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        """Use the sublayer twice: two tensors, two hooks."""
        return self.inner(x) + 3 * self.inner(x)


class InAPostHook(nn.Layer):
    """A forward post hook registers on a sublayer's output."""

    def __init__(self):
        super().__init__()
        self.fc = _linear(2, 2)
        self.fc.register_forward_post_hook(self.hook_output)

    def hook_output(self, layer, inputs, output):
        """Hook what the sublayer returns."""
        output.register_hook(square)

    def forward(self, x):
        """Apply the sublayer."""
        return self.fc(x) * paddle.to_tensor([3.0, 4.0])


class InAPreHook(nn.Layer):
    """A forward pre hook registers on a sublayer's input."""

    def __init__(self):
        super().__init__()
        self.fc = _linear(2, 2)
        self.fc.register_forward_pre_hook(self.hook_input)

    def hook_input(self, layer, inputs):
        """Hook what the sublayer is given."""
        inputs[0].register_hook(square)

    def forward(self, x):
        """Apply the sublayer to an intermediate."""
        return self.fc(2 * x) * paddle.to_tensor([3.0, 4.0])


class KeepsAttentionGradients(nn.Layer):
    """Saves the gradient of the attention map on itself, as explanation tools do."""

    def __init__(self):
        super().__init__()
        self.gradients = []

    def save(self, gradient):
        """Keep the gradient."""
        self.gradients.append(gradient)

    def forward(self, x):
        """Attend over three keys."""
        attention = nn.functional.softmax(x @ x.t())
        attention.register_hook(self.save)
        return attention @ x


class TransformerBlock(nn.Layer):
    """A whole encoder layer between two hooks."""

    def __init__(self):
        super().__init__()
        self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)

    def forward(self, x):
        """Hook the block's input and output."""
        h = x * 1.5
        h.register_hook(lambda g: g * g)
        out = self.block(h)
        out.register_hook(lambda g: g * g + 0.1)
        return out * out


class ConvolutionAndBatchNorm(nn.Layer):
    """A small convolutional net with hooks after the convolution and after the normalisation."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2D(1, 3, 3)
        self.norm = nn.BatchNorm2D(3)
        self.fc = nn.Linear(12, 2)

    def forward(self, x):
        """Convolve, normalise, classify."""
        h = self.convolution(x)
        h.register_hook(lambda g: g * g)
        n = nn.functional.relu(self.norm(h))
        n.register_hook(lambda g: paddle.tanh(g))
        return self.fc(n.flatten(1)) ** 2


IMAGE = [[[[float((3 * i + 5 * j) % 7) for j in range(4)] for i in range(4)]]]
TOKENS = [[[float((i * 3 + j * j) % 5) / 5 for j in range(8)] for i in range(3)]]

ENTRIES = [
    Case(
        InASublayer,
        ([1.0],),
        {"x0": [320.0]},
        calls=[("square", [4.0]), ("square", [12.0])],
        not_applicable=NO_PROGRAM,
    ),
    Case(
        InAPostHook,
        ([[1.0, 2.0]],),
        {
            "x0": [[12.5, 12.5]],
            "fc.weight": [[9.0, 16.0], [18.0, 32.0]],
            "fc.bias": [9.0, 16.0],
        },
        not_applicable=NO_PROGRAM,
    ),
    Case(
        InAPreHook,
        ([[1.0, 2.0]],),
        {"x0": [[24.5, 24.5]], "fc.weight": [[6.0, 8.0], [12.0, 16.0]], "fc.bias": [3.0, 4.0]},
        not_applicable=NO_PROGRAM,
    ),
    Case(
        KeepsAttentionGradients,
        ([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]],),
        rounds=2,
        not_applicable=NO_PROGRAM,
    ),
    Case(TransformerBlock, (TOKENS,), rounds=2, not_applicable=NO_PROGRAM),
    Case(ConvolutionAndBatchNorm, (IMAGE,), rounds=2, not_applicable=NO_PROGRAM),
]
