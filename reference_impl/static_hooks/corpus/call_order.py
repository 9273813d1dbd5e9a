"""The order of calls across different tensors is that of eager mode."""

from . import Case


def chain(x, log):
    """From the output to the input."""
    a = 6 * x
    a.register_hook(lambda g: log.append(("a", g.item())))
    b = 4 * a
    b.register_hook(lambda g: log.append(("b", g.item())))
    c = 5 * b
    c.register_hook(lambda g: log.append(("c", g.item())))
    return c


def diamond(x, log):
    """Two branches that share a producer, many times: the executor may run them in any order."""
    a = 6 * x
    a.register_hook(lambda g: log.append("a"))
    b = a * a
    b.register_hook(lambda g: log.append("b"))
    c = 5 * a
    c.register_hook(lambda g: log.append("c"))
    d = b * c
    d.register_hook(lambda g: log.append("d"))
    return d


def branches_of_unequal_length(x, log):
    """Eager mode goes breadth first."""
    a = 2 * x
    a.register_hook(lambda g: log.append("a"))
    b = 3 * a
    b.register_hook(lambda g: log.append("b"))
    c = 4 * b
    c.register_hook(lambda g: log.append("c"))
    d = 5 * x
    d.register_hook(lambda g: log.append("d"))
    e = 6 * d
    e.register_hook(lambda g: log.append("e"))
    return c + e


def independent_inputs(x, w, log):
    """Branches that meet only in the output."""
    a = 2 * x
    a.register_hook(lambda g: log.append("a"))
    b = 3 * w
    b.register_hook(lambda g: log.append("b"))
    c = 4 * b
    c.register_hook(lambda g: log.append("c"))
    return a * c


def replacing_and_observing(x, log):
    """What the first hook returns is what flows to the next tensor's hook."""

    def note(name, change):
        def hook(gradient):
            log.append((name, gradient.item()))
            return change(gradient)

        return hook

    a = 2 * x
    a.register_hook(note("a", lambda g: g + 1))
    b = a * a
    b.register_hook(note("b", lambda g: g * g))
    return 3 * b


ENTRIES = [
    Case(chain, ([1.0],), {"x0": [120.0]}, log=[("c", 1.0), ("b", 5.0), ("a", 20.0)]),
    Case(diamond, ([1.0],), {"x0": [64800.0]}, log=["d", "b", "c", "a"] * 20, rounds=20),
    Case(
        branches_of_unequal_length, ([1.0],), {"x0": [540.0]}, log=["c", "e", "b", "d", "a"] * 10,
        rounds=10,
    ),
    Case(
        independent_inputs,
        ([1.0], [1.0]),
        {"x0": [240.0], "x1": [240.0]},
        log=["a", "c", "b"] * 10,
        rounds=10,
    ),
    Case(replacing_and_observing, ([1.0],), {"x0": [74.0]}, log=[("b", 3.0), ("a", 36.0)]),
]  # fmt: skip
