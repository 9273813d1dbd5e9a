"""`paddle.grad` inside the function fires the hooks on its way, and backward fires them again."""

import paddle

from . import Case

DYNAMIC = {"program": "`paddle.grad` is not there in a plain static program"}


def on_the_way(x):
    """The hook lies between the two ends of the inner gradient."""
    y = 2 * x
    y.register_hook(lambda g: g * g)
    z = 3 * y
    (inner,) = paddle.grad(z, x, retain_graph=True)
    return z + inner.detach() * x


def on_the_way_unhooked(x):
    """The same without a hook."""
    y = 2 * x
    z = 3 * y
    (inner,) = paddle.grad(z, x, retain_graph=True)
    return z + inner.detach() * x


def off_the_way(x, log):
    """The hook lies beyond the inner gradient: only backward fires it."""
    y = 2 * x
    z = 3 * y
    (inner,) = paddle.grad(z, x, retain_graph=True)
    out = z * 5
    out.register_hook(lambda g: log.append(g.item()))
    return out + inner.detach()


def counted(x, log):
    """Two gradients, two calls."""
    y = 2 * x
    y.register_hook(lambda g: log.append(g.item()))
    z = y * y
    (inner,) = paddle.grad(z, x, retain_graph=True)
    return z + inner.detach() * 0.5


def gradient_penalty(x):
    """The norm of an inner gradient is part of the loss."""
    y = x * x
    y.register_hook(lambda g: 3 * g)
    z = y * x
    (inner,) = paddle.grad(z, x, create_graph=True)
    return z + inner * inner


def gradient_penalty_unhooked(x):
    """The same without a hook."""
    y = x * x
    z = y * x
    (inner,) = paddle.grad(z, x, create_graph=True)
    return z + inner * inner


ENTRIES = [
    Case(
        on_the_way,
        ([1.0],),
        {"x0": [36.0]},
        control=on_the_way_unhooked,
        not_applicable=DYNAMIC,
    ),
    Case(off_the_way, ([1.0],), {"x0": [30.0]}, log=[1.0], not_applicable=DYNAMIC),
    Case(counted, ([1.0],), {"x0": [8.0]}, log=[4.0, 4.0], not_applicable=DYNAMIC),
    Case(
        gradient_penalty,
        ([1.0],),
        {"x0": [259.0]},
        control=gradient_penalty_unhooked,
        not_applicable=DYNAMIC,
    ),
]
