"""Python state that the body reads is read when backward runs."""

import paddle
from paddle import nn

from . import Case, Scenario, converted

SETTINGS = {"factor": 1.0}


def late_bound_loop_variable(x):
    """Three hooks share the loop's variable, which ends at 3."""
    y = 2 * x
    for k in range(1, 4):
        y.register_hook(lambda g: g + k)  # noqa: B023
    return 9 * y


def early_bound_loop_variable(x):
    """A default argument keeps each iteration's value."""
    y = 2 * x
    for k in range(1, 4):
        y.register_hook(lambda g, k=k: g * k + 1)
    return 9 * y


def changed_after_the_registration(x):
    """A local that changes before the function returns."""
    factor = 2.0
    y = 2 * x
    y.register_hook(lambda g: g * g * factor)
    factor = 10.0
    return 3 * y


def a_nonlocal_counter(x):
    """The body counts in a variable of the traced function."""
    count = 0

    def hook(gradient):
        nonlocal count
        count += 1
        return gradient + count

    y = 2 * x
    y.register_hook(hook)
    y.register_hook(hook)
    return 3 * y


def a_list_that_grows(x, log):
    """The body reads what other hooks have appended."""
    a = 2 * x
    a.register_hook(lambda g: g * (1 + len(log)))
    b = 3 * a
    b.register_hook(lambda g: log.append("b"))
    return b


def a_closure_changed_between_forward_and_backward(mode):
    """The caller changes a variable after forward."""
    factor = 2.0

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: g * factor)
        return 3 * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    loss = converted(function, mode)(x).sum()
    factor = 5.0
    loss.backward()
    return x.grad.tolist()


def a_closure_changed_between_steps(mode):
    """The caller changes a variable between steps: 6, 12, then 18."""
    factor = 0.0

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: g * factor)
        return 3 * y

    run = converted(function, mode)
    x = paddle.to_tensor([1.0], stop_gradient=False)
    found = []
    for factor in (1.0, 2.0, 3.0):  # noqa: B007
        x.clear_gradient()
        run(x).sum().backward()
        found.append(x.grad.item())
    return found


def a_global_changed_between_steps(mode):
    """A module's dict that is changed between steps."""

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: g * SETTINGS["factor"])
        return 3 * y

    run = converted(function, mode)
    x = paddle.to_tensor([1.0], stop_gradient=False)
    found = []
    for factor in (1.0, 4.0):
        SETTINGS["factor"] = factor
        x.clear_gradient()
        run(x).sum().backward()
        found.append(x.grad.item())
    return found


class Scaled(nn.Layer):
    """Scales the gradient by an attribute."""

    def __init__(self):
        super().__init__()
        self.factor = 1.0

    def scale(self, gradient):
        """Multiply by what the attribute is now."""
        return gradient * self.factor

    def forward(self, x):
        """Hook an intermediate with a bound method."""
        y = 2 * x
        y.register_hook(self.scale)
        return 3 * y


def an_attribute_changed_between_steps(mode):
    """An attribute that a schedule changes, as gradient reversal does."""
    layer = Scaled()
    run = converted(layer, mode)
    found = []
    for factor in (1.0, -0.5):
        layer.factor = factor
        x = paddle.to_tensor([1.0], stop_gradient=False)
        run(x).sum().backward()
        found.append(x.grad.item())
    return found


def a_tensor_changed_between_steps(mode):
    """A tensor outside the function that the caller assigns to."""
    factor = paddle.to_tensor([1.0])

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: g * factor)
        return 3 * y

    run = converted(function, mode)
    found = []
    for value in (1.0, 7.0):
        factor.set_value(paddle.to_tensor([value]))
        x = paddle.to_tensor([1.0], stop_gradient=False)
        run(x).sum().backward()
        found.append(x.grad.item())
    return found


ENTRIES = [
    Case(late_bound_loop_variable, ([1.0],), {"x0": [36.0]}),
    Case(early_bound_loop_variable, ([1.0],), {"x0": [128.0]}),
    Case(changed_after_the_registration, ([1.0],), {"x0": [180.0]}),
    Case(a_nonlocal_counter, ([1.0],), {"x0": [12.0]}),
    Case(a_list_that_grows, ([1.0],), {"x0": [12.0]}, log=["b"]),
    Scenario(a_closure_changed_between_forward_and_backward, [30.0]),
    Scenario(a_closure_changed_between_steps, [6.0, 12.0, 18.0]),
    Scenario(a_global_changed_between_steps, [6.0, 24.0]),
    Scenario(an_attribute_changed_between_steps, [6.0, -3.0]),
    Scenario(a_tensor_changed_between_steps, [6.0, 42.0]),
]
