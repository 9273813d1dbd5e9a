"""A hook works on a tensor in a list, a dict, an attribute, or under a name that is re-bound."""

from types import SimpleNamespace

import paddle

from . import Case, Scenario, converted


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def item_of_a_list(x):
    """Held in a list."""
    ys = [2 * x, 3 * x]
    ys[1].register_hook(square)
    return 5 * ys[0] + 7 * ys[1]


def value_of_a_dict(x):
    """Held in a dict."""
    found = {"hidden": 2 * x}
    found["hidden"].register_hook(square)
    return 5 * found["hidden"]


def attribute_of_an_object(x):
    """Held in an attribute."""
    held = SimpleNamespace()
    held.hidden = 2 * x
    held.hidden.register_hook(square)
    return 5 * held.hidden


def a_name_bound_again(x):
    """The hook is on what the name meant at the registration, not before and not after."""
    y = 3 * x
    x = y + 1
    z = x * x
    x.register_hook(lambda g: g * g - 10)
    x = z * 2
    return x + 0


def a_name_bound_again_in_a_loop(x):
    """The name moves on, the hook stays on its tensor."""
    y = x
    for k in range(3):
        y = (k + 2) * y
        if k == 1:
            y.register_hook(square)
    return y


def augmented_assignment(x):
    """`+=` binds the name to a new tensor: the hook stays on the old one."""
    y = 2 * x
    y.register_hook(square)
    y += 3 * x
    return 5 * y


def every_item_of_a_nested_structure(x):
    """Found in a structure by walking it."""
    found = {"a": [2 * x, (3 * x, 4 * x)], "b": 5 * x}
    for tensor in [*found["a"][:1], *found["a"][1], found["b"]]:
        tensor.register_hook(square)
    return found["a"][0] + 2 * found["a"][1][0] + 3 * found["a"][1][1] + 4 * found["b"]


def a_list_given_as_an_argument(mode):
    """A hook appends to the caller's own list, not to a copy that tracing made."""

    def function(x, seen):
        y = 2 * x
        y.register_hook(lambda g: seen.append(g.item()))
        return 3 * y

    seen = []
    run = converted(function, mode)
    for _ in range(2):
        run(paddle.to_tensor([1.0], stop_gradient=False), seen).sum().backward()
    return seen


ENTRIES = [
    Case(item_of_a_list, ([1.0],), {"x0": [157.0]}),
    Case(value_of_a_dict, ([1.0],), {"x0": [50.0]}),
    Case(attribute_of_an_object, ([1.0],), {"x0": [50.0]}),
    Case(a_name_bound_again, ([1.0],), {"x0": [738.0]}, calls=[("<lambda>", [16.0])]),
    Case(a_name_bound_again_in_a_loop, ([1.0],), {"x0": [96.0]}, calls=[("square", [4.0])]),
    Case(augmented_assignment, ([1.0],), {"x0": [65.0]}, calls=[("square", [5.0])]),
    Case(every_item_of_a_nested_structure, ([1.0],), {"x0": [130.0]}),
    Scenario(a_list_given_as_an_argument, [3.0, 3.0]),
]
