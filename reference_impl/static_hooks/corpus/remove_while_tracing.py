"""A hook removed before the function returns does not run."""

from . import Case


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def at_once(x):
    """Registered and removed in two lines."""
    y = 2 * x
    handle = y.register_hook(lambda g: g * 5)
    y.register_hook(lambda g: g + 6)
    handle.remove()
    return y


def after_a_use(x):
    """Removed after the tensor is used."""
    y = 2 * x
    handle = y.register_hook(square)
    z = 3 * y
    handle.remove()
    return z


def the_middle_one_of_three(x):
    """The others keep their order."""
    y = 2 * x
    y.register_hook(lambda g: g + 1)
    middle = y.register_hook(lambda g: g * 100)
    y.register_hook(square)
    middle.remove()
    return 3 * y


def all_of_a_list(x):
    """Handles kept in a list, all removed."""
    handles = []
    y = x
    for _ in range(3):
        y = 2 * y
        handles.append(y.register_hook(square))
    for handle in handles:
        handle.remove()
    return y


def one_of_two_tensors(x):
    """The handle of one tensor leaves the other's hook alone."""
    a = 2 * x
    b = 3 * x
    first = a.register_hook(square)
    b.register_hook(square)
    first.remove()
    return 5 * a + 7 * b


def of_an_input(x):
    """The caller's tensor is as it was."""
    handle = x.register_hook(square)
    out = 3 * x
    handle.remove()
    return out


def registered_again(x):
    """Removed, then registered again."""
    y = 2 * x
    handle = y.register_hook(lambda g: g * 100)
    handle.remove()
    y.register_hook(square)
    return 3 * y


ENTRIES = [
    Case(at_once, ([1.0],), {"x0": [14.0]}, calls=[("<lambda>", [1.0])]),
    Case(after_a_use, ([1.0],), {"x0": [6.0]}, calls=[]),
    Case(the_middle_one_of_three, ([1.0],), {"x0": [32.0]}),
    Case(all_of_a_list, ([1.0],), {"x0": [8.0]}, calls=[]),
    Case(one_of_two_tensors, ([1.0],), {"x0": [157.0]}, calls=[("square", [7.0])]),
    Case(of_an_input, ([1.0],), {"x0": [3.0]}, calls=[]),
    Case(registered_again, ([1.0],), {"x0": [18.0]}, calls=[("square", [3.0])]),
]
