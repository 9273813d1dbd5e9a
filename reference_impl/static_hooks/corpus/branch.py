"""A hook may be registered in a branch; only what ran fires."""

from . import Case


def square(gradient):
    """Square the gradient."""
    return gradient * gradient


def on_a_python_flag(x):
    """A condition that tracing decides."""
    y = 2 * x
    if len(x.shape) == 1:
        y.register_hook(square)
    else:
        y.register_hook(lambda g: g * 0)
    return 3 * y


def on_a_value_taken(x):
    """A condition on a tensor's value; the branch with the hook runs."""
    if x.sum() > 0:
        y = 2 * x
        y.register_hook(square)
        out = 3 * y
    else:
        out = 5 * x
    return out


def on_a_value_not_taken(x):
    """The same function; the other branch runs."""
    if x.sum() > 0:
        y = 2 * x
        y.register_hook(square)
        out = 3 * y
    else:
        out = 5 * x
    return out


def outer_tensor_taken(x):
    """A branch registers on a tensor made before it."""
    y = 2 * x
    out = 3 * y
    if x.sum() > 0:
        y.register_hook(square)
        out = out + 1
    return out


def outer_tensor_not_taken(x):
    """The branch that registers does not run, so the hook does not either."""
    y = 2 * x
    out = 3 * y
    if x.sum() > 0:
        y.register_hook(square)
        out = out + 1
    return out


def each_branch_its_own(x, log):
    """Both branches register; one of them ran."""
    if x.sum() > 0:
        a = 2 * x
        a.register_hook(lambda g: log.append(("then", g.item())))
        out = 3 * a
    else:
        b = 5 * x
        b.register_hook(lambda g: log.append(("else", g.item())))
        out = 7 * b
    return out


def before_a_branch(x):
    """A tensor hooked before the branch that uses it."""
    y = 2 * x
    y.register_hook(square)
    if x.sum() > 0:
        out = 3 * y
        out = out * 2
    else:
        out = 5 * y
    return out


def after_a_branch(x):
    """The branch's result is hooked after it."""
    if x.sum() > 0:
        out = 3 * x
        out = out * 2
    else:
        out = 5 * x
    out.register_hook(square)
    return 2 * out


def captured_inside(x):
    """The body uses a value of the branch."""
    if x.sum() > 0:
        y = 2 * x
        m = y * y
        y.register_hook(lambda g: g * m)
        out = 3 * y
    else:
        out = 5 * x
    return out


def bound_in_both_branches(x):
    """An intermediate with a name in both branches: Paddle's own static gradient is 0."""
    if x.sum() > 0:
        y = x + 4
        y.register_hook(square)
        z = y**2
    else:
        y = x * 1
        z = y
    return z


def bound_in_both_branches_unhooked(x):
    """The same without a hook."""
    if x.sum() > 0:
        y = x + 4
        z = y**2
    else:
        y = x * 1
        z = y
    return z


PYTHON_CONDITION = {
    "program": "a plain static program needs `paddle.static.nn.cond` for a tensor's value"
}

ENTRIES = [
    Case(on_a_python_flag, ([1.0],), {"x0": [18.0]}),
    Case(on_a_value_taken, ([1.0],), {"x0": [18.0]}, not_applicable=PYTHON_CONDITION),
    Case(on_a_value_not_taken, ([-1.0],), {"x0": [5.0]}, calls=[], not_applicable=PYTHON_CONDITION),
    Case(outer_tensor_taken, ([1.0],), {"x0": [18.0]}, not_applicable=PYTHON_CONDITION),
    Case(
        outer_tensor_not_taken, ([-1.0],), {"x0": [6.0]}, calls=[], not_applicable=PYTHON_CONDITION
    ),
    Case(
        each_branch_its_own,
        ([-1.0],),
        {"x0": [35.0]},
        log=[("else", 7.0)],
        not_applicable=PYTHON_CONDITION,
    ),
    Case(before_a_branch, ([-1.0],), {"x0": [50.0]}, not_applicable=PYTHON_CONDITION),
    Case(after_a_branch, ([-1.0],), {"x0": [20.0]}, not_applicable=PYTHON_CONDITION),
    Case(captured_inside, ([1.0],), {"x0": [24.0]}, not_applicable=PYTHON_CONDITION),
    Case(
        bound_in_both_branches,
        ([2.0],),
        {"x0": [144.0]},
        control=bound_in_both_branches_unhooked,
        not_applicable=PYTHON_CONDITION,
    ),
]
