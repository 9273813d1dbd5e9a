"""A hook that removes itself while it runs: its result counts, and it does not run again."""

import paddle

from . import Safer, Scenario, converted

DIES = "eager mode kills the process"


def in_its_own_body(mode):
    """The body removes its own handle; the next forward registers anew."""
    handles, seen = [], []

    def function(x):
        def once(gradient):
            handles[-1].remove()
            seen.append(gradient.item())
            return gradient * gradient

        y = 2 * x
        handles.append(y.register_hook(once))
        return 3 * y

    run = converted(function, mode)
    found = []
    for _ in range(2):
        x = paddle.to_tensor([1.0], stop_gradient=False)
        run(x).sum().backward()
        found.append(x.grad.item())
    return [found, seen]


def of_the_next_hook(mode):
    """A hook that removes the one after it: that one does not run in this backward any more."""
    handles = []

    def function(x):
        def first(gradient):
            handles[-1].remove()
            return gradient + 1

        y = 2 * x
        y.register_hook(first)
        handles.append(y.register_hook(lambda g: g * 100))
        return 3 * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    converted(function, mode)(x).sum().backward()
    return x.grad.tolist()


ENTRIES = [
    Scenario(
        in_its_own_body,
        [],
        safer=Safer(DIES, result=[[18.0, 18.0], [3.0, 3.0]]),
        crashes=True,
    ),
    Scenario(of_the_next_hook, [8.0], crashes=False),
]
