"""Gradients accumulate over micro-batches: each backward calls the hook with its own part."""

import paddle
from paddle import nn

from . import Case, Scenario, converted


def three_micro_batches(x):
    """Squares of the parts add up, not the square of the sum."""
    y = 2 * x
    y.register_hook(lambda g: g * g)
    return 3 * y


def _linear(value):
    return nn.Linear(1, 1, weight_attr=nn.initializer.Constant(value), bias_attr=False)


def an_optimizer_every_second_step(mode):
    """Four micro-batches, two optimizer steps."""
    layer = _linear(1.0)

    def function(x):
        h = layer(x)
        h.register_hook(lambda g: g * g)
        return 3 * h

    run = converted(function, mode)
    optimizer = paddle.optimizer.SGD(0.01, parameters=layer.parameters())
    found = []
    for k in range(4):
        run(paddle.to_tensor([[float(k + 1)]])).sum().backward()
        if k % 2:
            optimizer.step()
            optimizer.clear_grad()
            found.append(round(layer.weight.item(), 4))
    return found


def two_losses_of_an_adversarial_pair(mode):
    """A generator and a critic: two losses through one hooked tensor, each step both."""
    generator, critic = _linear(2.0), _linear(0.5)
    seen = []

    def function(z):
        fake = generator(z)
        fake.register_hook(lambda g: seen.append(g.item()))
        fake.register_hook(lambda g: g * g)
        return critic(fake), critic(fake.detach())

    run = converted(function, mode)
    for _ in range(2):
        for_generator, for_critic = run(paddle.to_tensor([[1.0]]))
        (3 * for_critic).sum().backward()
        critic.clear_gradients()
        for_generator, for_critic = run(paddle.to_tensor([[1.0]]))
        (4 * for_generator + for_critic).sum().backward()
    return [seen, generator.weight.grad.tolist(), critic.weight.grad.tolist()]


ENTRIES = [
    Case(three_micro_batches, ([1.0],), {"x0": [54.0]}, rounds=3),
    Scenario(an_optimizer_every_second_step, [0.73, 0.1]),
    Scenario(two_losses_of_an_adversarial_pair, [[2.0, 2.0], [[8.0]], [[10.0]]]),
]
