"""Hooked models train with optimizers, clipping and learning-rate schedules as in eager mode."""

import paddle
from paddle import nn

from . import Scenario, converted


class Perceptron(nn.Layer):
    """Three linear layers with hooks on both hidden activations."""

    def __init__(self):
        super().__init__()
        self.layers = nn.LayerList([nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)])

    def forward(self, x):
        """Hook every hidden activation."""
        for layer in self.layers[:-1]:
            x = paddle.tanh(layer(x))
            x.register_hook(lambda g: g * g + 0.5 * g)
        return self.layers[-1](x)


def _trained(mode, make_optimizer, steps=5):
    paddle.seed(3)
    net = Perceptron()
    optimizer, schedule = make_optimizer(net.parameters())
    run = converted(net, mode)
    data = paddle.linspace(-1.0, 1.0, 32).reshape([8, 4])
    target = data.sum(axis=1, keepdim=True)
    losses = []
    for _ in range(steps):
        loss = ((run(data) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if schedule is not None:
            schedule.step()
        losses.append(round(loss.item(), 4))
    return losses


def adam(mode):
    """Adam over five steps."""
    return _trained(mode, lambda p: (paddle.optimizer.Adam(0.05, parameters=p), None))


def momentum_with_clip_and_schedule(mode):
    """Momentum, clipping by global norm, and a decaying learning rate."""

    def make(parameters):
        schedule = paddle.optimizer.lr.ExponentialDecay(0.2, gamma=0.5)
        clip = nn.ClipGradByGlobalNorm(0.5)
        optimizer = paddle.optimizer.Momentum(schedule, parameters=parameters, grad_clip=clip)
        return optimizer, schedule

    return _trained(mode, make)


def weight_decay(mode):
    """AdamW with clipping by value."""

    def make(parameters):
        clip = nn.ClipGradByValue(0.01)
        return paddle.optimizer.AdamW(0.05, parameters=parameters, grad_clip=clip), None

    return _trained(mode, make)


ENTRIES = [
    Scenario(adam),
    Scenario(momentum_with_clip_and_schedule),
    Scenario(weight_decay),
]
