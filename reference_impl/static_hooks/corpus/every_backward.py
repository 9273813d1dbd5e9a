"""One call per backward, over many steps and also when one graph runs backward twice."""

import paddle

from . import Case, Scenario, converted


def three_steps(x, log):
    """Each step calls the hook once, with the gradient of that step alone."""
    y = 2 * x
    y.register_hook(lambda g: log.append(g.item()))
    return 9 * y


def traced_over_steps(x):
    """A traced body acts in each step."""
    y = 2 * x
    y.register_hook(lambda g: g * g)
    return 3 * y


def _twice(mode, hooked):
    def function(x):
        y = 2 * x
        if hooked:
            y.register_hook(lambda g: g * g)
        return 3 * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    loss = converted(function, mode)(x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    return x.grad.tolist()


def retained_graph(mode):
    """One forward, two backwards: the hook runs in each."""
    return _twice(mode, hooked=True)


def retained_graph_unhooked(mode):
    """The same without a hook."""
    return _twice(mode, hooked=False)


def two_forwards_before_one_backward(mode):
    """Each of two calls has a graph of its own, and one backward runs through both."""
    seen = []

    def function(x):
        y = 2 * x

        def hook(gradient):
            seen.append(gradient.item())
            return gradient * gradient

        y.register_hook(hook)
        return 3 * y

    run = converted(function, mode)
    a = paddle.to_tensor([1.0], stop_gradient=False)
    b = paddle.to_tensor([1.0], stop_gradient=False)
    (run(a) + 5 * run(b)).sum().backward()
    return [a.grad.tolist(), b.grad.tolist(), sorted(seen)]


def fed_into_itself(mode):
    """A function applied to its own result."""

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: g * g)
        return y * y

    run = converted(function, mode)
    x = paddle.to_tensor([1.0], stop_gradient=False)
    run(run(x)).sum().backward()
    return x.grad.tolist()


ENTRIES = [
    Case(three_steps, ([1.0],), {"x0": [54.0]}, log=[9.0, 9.0, 9.0], rounds=3),
    Case(traced_over_steps, ([1.0],), {"x0": [72.0]}, calls=[("<lambda>", [3.0])] * 4, rounds=4),
    Scenario(retained_graph, [36.0], control=retained_graph_unhooked),
    Scenario(two_forwards_before_one_backward, [[18.0], [450.0], [3.0, 15.0]]),
    Scenario(fed_into_itself, [8388608.0]),
]
