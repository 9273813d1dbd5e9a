"""Hooks work under automatic mixed precision: the gradient has the tensor's dtype."""

import paddle
from paddle import nn

from . import Case, Scenario, converted


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def o1_on_a_matrix_product(x, log):
    """O1: the gradient has the product's dtype (on a CPU, bfloat16 only in a static graph)."""
    with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
        y = paddle.matmul(x, x)
        y.register_hook(lambda g: log.append(g.dtype == y.dtype))
        y.register_hook(square)
    return y.astype("float32") * 3


def o1_on_a_cast_input(x, log):
    """O1: what is before the product stays in float32."""
    with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
        y = 2 * x
        y.register_hook(lambda g: log.append(str(g.dtype)))
        y.register_hook(square)
        z = paddle.matmul(y, y)
    return z.astype("float32")


def bfloat16_by_hand(x):
    """A part of the function computes in bfloat16."""
    y = x.astype("bfloat16") * 2
    y.register_hook(square)
    return (y * y).astype("float32")


class Net(nn.Layer):
    """Two linear layers with a hook between them."""

    def __init__(self, hooked):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 2)
        self.hooked = hooked
        self.seen = []

    def look(self, gradient):
        """Keep the dtype."""
        self.seen.append(str(gradient.dtype))

    def forward(self, x):
        """Apply both."""
        h = paddle.tanh(self.first(x))
        if self.hooked:
            h.register_hook(self.look)
            h.register_hook(square)
        return self.second(h)


def _step(mode, level, hooked):
    paddle.seed(1)
    net = Net(hooked)
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    if level == "O2":
        net, optimizer = paddle.amp.decorate(net, optimizer, level="O2", dtype="bfloat16")
    run = converted(net, mode)
    scaler = paddle.amp.GradScaler(init_loss_scaling=8.0)
    losses = []
    for _ in range(3):
        with paddle.amp.auto_cast(level=level, dtype="bfloat16"):
            loss = (run(paddle.ones([2, 4])).astype("float32") ** 2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
        losses.append(round(loss.item(), 2))
    return [losses, net.seen]


def o1_training(mode):
    """O1 with a loss scaler: three steps."""
    return _step(mode, "O1", True)


def o2_training(mode):
    """O2: parameters in bfloat16, master weights in float32."""
    return _step(mode, "O2", True)


def o1_unhooked(mode):
    """O1 without hooks."""
    return _step(mode, "O1", False)


def o2_unhooked(mode):
    """O2 without hooks."""
    return _step(mode, "O2", False)


MATRIX = [[1.0, 0.0], [0.0, 2.0]]

ENTRIES = [
    Case(o1_on_a_matrix_product, (MATRIX,), {"x0": [[18.0, 27.0], [27.0, 36.0]]}, log=[True]),
    Case(o1_on_a_cast_input, (MATRIX,), {"x0": [[32.0, 72.0], [72.0, 128.0]]}),
    Case(bfloat16_by_hand, ([1.0],), {"x0": [32.0]}),
    Scenario(o1_training, control=o1_unhooked),
    Scenario(o2_training, control=o2_unhooked),
]
