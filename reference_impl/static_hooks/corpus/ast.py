"""In AST mode (`full_graph=True`) Python code means what it says: no statement is moved."""

import paddle

from . import Case


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


class Registry:
    """An object of the user's own that happens to have a method of that name."""

    def __init__(self):
        self.names = []

    def register_hook(self, name):
        """Keep a name."""
        self.names.append(name)


def a_branch_that_is_not_taken(x, use_hook=False):
    """No hook is registered at all; Paddle alone moves the `if` above the statement before it."""
    h = 2 * x
    h = h * h
    if use_hook:
        h.register_hook(square)
    else:
        h = h * 10
    return h


def a_method_of_the_same_name(x):
    """Not a tensor's method; Paddle alone moves this statement too."""
    registry = Registry()
    h = 2 * x
    h = h * 3
    registry.register_hook(h.shape)
    h = h * len(registry.names)
    return h * h


def defined_by_several_statements(x):
    """Paddle alone moves the registration above the definition: UnboundLocalError."""
    a = 2 * x
    b = a + 1
    y = paddle.tanh(b) * 0 + b
    z = y * y
    y.register_hook(square)
    return z


def in_a_with_block(x):
    """The whole block stays where it is."""
    y = 2 * x
    z = y * y
    with paddle.base.framework.name_scope("hooked"):
        z.register_hook(square)
        tripled = z * 3
    return tripled + 0


def inside_try(x):
    """A `try` around the registration does not swallow it: the hook is there."""
    y = 2 * x
    try:
        y.register_hook(square)
    except AssertionError:
        y = y * 0
    return 3 * y


def two_tensors_in_one_line(x):
    """Two registrations in one statement, in order."""
    a = 2 * x
    b = 3 * a
    _ = (b.register_hook(square), a.register_hook(lambda g: g + 1))
    return 5 * b


def sub_block_and_attribute(x):
    """Registered in a nested block on an attribute that is re-bound afterwards."""
    held = Registry()
    held.h = 2 * x
    for k in range(2):
        if k == 1:
            held.h.register_hook(square)
            held.h = held.h * 7
    return held.h


ENTRIES = [
    Case(a_branch_that_is_not_taken, ([1.0],), {"x0": [80.0]}),
    Case(a_method_of_the_same_name, ([1.0],), {"x0": [72.0]}),
    Case(defined_by_several_statements, ([1.0],), {"x0": [72.0]}),
    Case(in_a_with_block, ([1.0],), {"x0": [72.0]}),
    Case(inside_try, ([1.0],), {"x0": [18.0]}),
    Case(two_tensors_in_one_line, ([1.0],), {"x0": [152.0]}),
    Case(sub_block_and_attribute, ([1.0],), {"x0": [98.0]}),
]
