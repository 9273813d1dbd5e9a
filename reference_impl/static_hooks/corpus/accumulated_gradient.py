"""The hook is called once per backward, with the sum of the gradients of all uses."""

from . import Case


def square(gradient):
    """Answer differently for a sum than for the sum of the answers."""
    return gradient * gradient


def two_uses(x):
    """Two uses of one tensor: an identity operation at the registration would give 38."""
    y = 2 * x
    a = 3 * y
    y.register_hook(square)
    return a + 4 * y


def three_uses_of_different_kinds(x):
    """A product with itself, a scaling and a halving."""
    y = 2 * x
    y.register_hook(square)
    return y * y + 3 * y + y / 2


def several_operands_of_one_operation(x):
    """The tensor is two operands of one operation and one of another."""
    y = 2 * x
    y.register_hook(square)
    return y * y * y


def a_path_and_a_shortcut(x):
    """The gradient comes through a chain of operations and directly."""
    y = 2 * x
    h = y * y
    y.register_hook(square)
    return h * 3 + y


def uses_in_two_outputs(x):
    """The uses end in different outputs."""
    y = 2 * x
    y.register_hook(square)
    return 3 * y, y * y


def the_whole_and_a_part(x):
    """A slice is used and so is the whole tensor."""
    y = 2 * x
    y.register_hook(square)
    return y[0] * 5 + y.sum()


def a_broadcast_use(x):
    """Three rows for each of two uses: broadcasting is undone before the hook runs."""
    y = 2 * x
    y.register_hook(square)
    return y.expand([3, 2]) + y * 1.0


def ten_uses(x):
    """Ten uses, added up one by one."""
    y = 2 * x
    y.register_hook(square)
    total = y * 1
    for k in range(2, 11):
        total = total + k * y
    return total


ENTRIES = [
    Case(two_uses, ([1.0],), {"x0": [98.0]}, calls=[("square", [7.0])]),
    Case(three_uses_of_different_kinds, ([1.0],), {"x0": [112.5]}, calls=[("square", [7.5])]),
    Case(several_operands_of_one_operation, ([1.0],), {"x0": [288.0]}, calls=[("square", [12.0])]),
    Case(a_path_and_a_shortcut, ([1.0],), {"x0": [338.0]}, calls=[("square", [13.0])]),
    Case(uses_in_two_outputs, ([2.0],), {"x0": [242.0]}, calls=[("square", [11.0])]),
    Case(the_whole_and_a_part, ([1.0, 2.0],), {"x0": [72.0, 2.0]}, calls=[("square", [6.0, 1.0])]),
    Case(a_broadcast_use, ([[1.0, 2.0]],), {"x0": [[72.0, 72.0]]}, calls=[("square", [6.0, 6.0])]),
    Case(ten_uses, ([1.0],), {"x0": [6050.0]}, calls=[("square", [55.0])]),
]
