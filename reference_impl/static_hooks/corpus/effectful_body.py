"""A body with Python effects runs in Python at every backward, with real tensors."""

import contextlib
import io

import paddle

import static_hooks

from . import Case, Scenario, converted


def appends(x, log):
    """Three backwards, three entries."""
    y = 2 * x
    y.register_hook(lambda g: log.append(g.numpy().tolist()))
    return 9 * y


def counts(x, log):
    """The number of calls so far changes the gradient."""

    def hook(gradient):
        log.append(1)
        return gradient * len(log)

    y = 2 * x
    y.register_hook(hook)
    return y * 1.0


def branches_on_the_value(x):
    """An `if` on the gradient."""

    def hook(gradient):
        if gradient.sum().item() > 1:
            return gradient * 10
        return gradient

    a = 2 * x
    b = 3 * x
    a.register_hook(hook)
    b.register_hook(hook)
    return 1.5 * a + 0.5 * b


def loops(x):
    """A `for` over the gradient's elements."""

    def hook(gradient):
        total = 0.0
        for value in gradient.numpy():
            total += float(value) ** 2
        return gradient * total

    y = 2 * x
    y.register_hook(hook)
    return y * paddle.to_tensor([1.0, 2.0])


def uses_numpy(x):
    """Through NumPy and back."""

    def hook(gradient):
        return paddle.to_tensor(gradient.numpy()[::-1].copy())

    y = 2 * x
    y.register_hook(hook)
    return y * paddle.to_tensor([1.0, 5.0])


def catches_its_own_error(x, log):
    """An exception that the body handles is no error."""

    def hook(gradient):
        try:
            log.append(gradient.missing)
        except AttributeError:
            log.append("handled")
        return gradient * gradient

    y = 2 * x
    y.register_hook(hook)
    return 3 * y


def calls_a_helper_with_effects(x, log):
    """The effect is two calls away from the body."""

    def note(value):
        log.append(value)
        return value

    def scaled(gradient):
        return gradient * note(gradient.item())

    y = 2 * x
    y.register_hook(lambda g: scaled(g))
    return 3 * y


def two_on_one_tensor(x, log):
    """Two bodies with effects on one tensor keep their order and share their state."""

    def first(gradient):
        log.append("first")
        return gradient + 1

    def second(gradient):
        log.append("second")
        return gradient * len(log)

    y = 2 * x
    y.register_hook(first)
    y.register_hook(second)
    return 3 * y


def adds_noise(x, log):
    """Each step draws anew, and draws what eager mode draws from the same seed."""
    y = 2 * x
    y.register_hook(lambda g: g + paddle.rand([1]))
    y.register_hook(lambda g: log.append(round(g.item(), 5)))
    return 3 * y


def computes_a_gradient(x):
    """The body asks for a gradient of its own."""

    def hook(gradient):
        inner = gradient.detach()
        inner.stop_gradient = False
        (found,) = paddle.grad((inner * inner * inner).sum(), inner)
        return found

    y = 2 * x
    y.register_hook(hook)
    return 5 * y


def forced_to_be_called_back(mode):
    """`callback` insists; the result is the same."""

    def square(gradient):
        return gradient * gradient

    static_hooks.callback(square)

    def function(x):
        y = 2 * x
        y.register_hook(square)
        return 3 * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    converted(function, mode)(x).sum().backward()
    return x.grad.tolist()


def prints(mode):
    """`print` prints at each backward, the value and not a placeholder."""

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: print("gradient", g.item()))  # noqa: T201
        return 3 * y

    run = converted(function, mode)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for _ in range(2):
            run(paddle.to_tensor([1.0], stop_gradient=False)).sum().backward()
    return printed.getvalue().splitlines()


def observes_an_unused_gradient(mode):
    """A hook that only looks runs although nobody needs the input's gradient."""
    seen = []
    weight = paddle.create_parameter([1], "float32")

    def function(x):
        y = weight * x
        y.register_hook(lambda g: seen.append(g.item()))
        return 3 * y

    converted(function, mode)(paddle.to_tensor([1.0])).sum().backward()
    return seen


ENTRIES = [
    Case(appends, ([1.0, 2.0],), {"x0": [54.0, 54.0]}, log=[[9.0, 9.0]] * 3, rounds=3),
    Case(counts, ([1.0],), {"x0": [12.0]}, log=[1, 1, 1], rounds=3),
    Case(branches_on_the_value, ([1.0],), {"x0": [31.5]}),
    Case(loops, ([1.0, 1.0],), {"x0": [10.0, 20.0]}),
    Case(uses_numpy, ([1.0, 1.0],), {"x0": [10.0, 2.0]}),
    Case(catches_its_own_error, ([1.0],), {"x0": [18.0]}, log=["handled"]),
    Case(calls_a_helper_with_effects, ([1.0],), {"x0": [18.0]}, log=[3.0]),
    Case(two_on_one_tensor, ([1.0],), {"x0": [16.0]}, log=["first", "second"]),
    Case(adds_noise, ([1.0],), rounds=3),
    Case(computes_a_gradient, ([1.0],), {"x0": [150.0]}),
    Scenario(forced_to_be_called_back, [18.0]),
    Scenario(prints, ["gradient 3.0", "gradient 3.0"]),
    Scenario(observes_an_unused_gradient, [3.0]),
]
