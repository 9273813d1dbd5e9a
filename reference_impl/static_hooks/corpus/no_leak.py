"""Nothing of a traced function stays alive when nobody uses it any more."""

import gc
import weakref

import paddle

from . import Safer, Scenario, converted

TRACES = 20


class Payload:
    """Something that a hook holds, so that its life can be watched."""

    factor = 1.0

    def __call__(self, gradient):
        """Be a hook that is called back."""
        return gradient * gradient


def _alive(mode, make_function, backward=True):
    """Count the payloads that outlive their function."""
    watched = []
    for _ in range(TRACES):
        payload = Payload()
        watched.append(weakref.ref(payload))
        x = paddle.to_tensor([1.0], stop_gradient=False)
        loss = converted(make_function(payload), mode)(x).sum()
        if backward:
            loss.backward()
        del payload, x, loss
    gc.collect()
    return sum(reference() is not None for reference in watched)


def hooks_that_are_called_back(mode):
    """The hook itself is the payload."""

    def make(payload):
        def function(x):
            y = 2 * x
            y.register_hook(payload)
            return 3 * y

        return function

    return _alive(mode, make)


def closures(mode):
    """The payload is in the closure of a nested hook, beside a captured tensor."""

    def make(payload):
        def function(x):
            y = 2 * x
            y.register_hook(lambda g: payload(g) * y)
            return 3 * y

        return function

    return _alive(mode, make)


def a_closure_without_hooks(mode):
    """The same without a hook: the payload is in the closure of the function."""

    def make(payload):
        def function(x):
            y = 2 * x
            return 3 * y * payload.factor

        return function

    return _alive(mode, make)


def hooks_on_inputs(mode):
    """The hook is on the caller's tensor, which dies with it."""

    def make(payload):
        def function(x):
            x.register_hook(payload)
            return 3 * x

        return function

    return _alive(mode, make)


def hooks_never_run(mode):
    """Forward alone, without any backward."""

    def make(payload):
        def function(x):
            y = 2 * x
            y.register_hook(payload)
            return 3 * y

        return function

    return _alive(mode, make, backward=False)


def gradients(mode):
    """The gradients that hooks were given are not kept by anything else."""
    kept = []

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: kept.append(weakref.ref(g)))
        return 3 * y

    run = converted(function, mode)
    for _ in range(TRACES):
        run(paddle.to_tensor([1.0], stop_gradient=False)).sum().backward()
    gc.collect()
    return sum(reference() is not None for reference in kept)


ENTRIES = [
    Scenario(hooks_that_are_called_back, 0, control=a_closure_without_hooks),
    Scenario(
        closures,
        TRACES,
        safer=Safer(
            "in eager mode a hook that captures its own tensor is a cycle that nothing frees",
            result=0,
        ),
        control=a_closure_without_hooks,
    ),
    Scenario(hooks_on_inputs, 0, control=a_closure_without_hooks),
    Scenario(hooks_never_run, 0, control=a_closure_without_hooks),
    Scenario(gradients, 0),
]
