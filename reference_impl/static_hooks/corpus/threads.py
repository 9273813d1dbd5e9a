"""Hooked functions run in several threads, one after the other.

Paddle runs one static function in two threads at the same time with or without hooks wrongly: the
threads share the memory of its program.
"""

from concurrent.futures import ThreadPoolExecutor

import paddle

from . import Scenario, converted


def _elsewhere(function, *arguments):
    """Run a function in another thread and wait for it."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *arguments).result()


def _stepped(mode, hooked, places):
    """Run a step at each place in turn: one function, several threads, one after the other."""

    def function(x):
        y = 2 * x
        if hooked:
            y.register_hook(lambda g: g * g)
        return 3 * y

    run = converted(function, mode)

    def step(value):
        x = paddle.to_tensor([value], stop_gradient=False)
        (value * run(x)).sum().backward()
        return x.grad.item()

    return [place(step, float(value)) for value, place in enumerate(places, 1)]


def _here(function, *arguments):
    return function(*arguments)


def traced_here_and_run_elsewhere(mode):
    """Traced in the main thread, run in two others, one after the other."""
    return _stepped(mode, True, [_here, _elsewhere, _elsewhere])


def traced_here_and_run_elsewhere_unhooked(mode):
    """The same without a hook."""
    return _stepped(mode, False, [_here, _elsewhere, _elsewhere])


def traced_elsewhere_and_run_here(mode):
    """Traced in another thread, run in the main thread."""
    return _stepped(mode, True, [_elsewhere, _here])


def traced_elsewhere_and_run_here_unhooked(mode):
    """The same without a hook."""
    return _stepped(mode, False, [_elsewhere, _here])


def _backward_in_a_thread(mode, hooked):
    seen = []

    def function(x):
        y = 2 * x
        if hooked:
            y.register_hook(lambda g: seen.append(g.item()))
            y.register_hook(lambda g: g * g)
        return 3 * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    loss = converted(function, mode)(x).sum()
    _elsewhere(loss.backward)
    return [x.grad.tolist(), seen]


def backward_in_another_thread(mode):
    """Forward in the main thread, backward in another."""
    return _backward_in_a_thread(mode, hooked=True)


def backward_in_another_thread_unhooked(mode):
    """The same without a hook."""
    return _backward_in_a_thread(mode, hooked=False)


ENTRIES = [
    Scenario(
        traced_here_and_run_elsewhere,
        [18.0, 72.0, 162.0],
        control=traced_here_and_run_elsewhere_unhooked,
    ),
    Scenario(
        traced_elsewhere_and_run_here,
        [18.0, 72.0],
        control=traced_elsewhere_and_run_here_unhooked,
    ),
    Scenario(
        backward_in_another_thread,
        [[18.0], [3.0]],
        control=backward_in_another_thread_unhooked,
    ),
]
