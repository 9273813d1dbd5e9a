"""The probes in Paddle, for the chapter that runs them live: eager mode and both static modes."""

# ruff: noqa: D103 - what each probe asks is written once, in ../probes.py

import os

os.environ["MIN_GRAPH_SIZE"] = "0"  # read by SOT: it must compile graphs of any size

import harness
import paddle
from harness import NoForm, Watch, told
from static_hooks.runs import compiling


def eager(function):
    return function


def ast(function):
    return paddle.jit.to_static(function, full_graph=True)


def sot(function):
    return paddle.jit.to_static(function, full_graph=False)


MODES = {"eager": eager, "ast": ast, "sot": sot}


def square(gradient):
    return gradient * gradient


def add_one(gradient):
    return gradient + 1


def two_uses(hook):
    """Make the function that most probes run: a hook before two uses of its tensor."""

    def function(x):
        y = 2 * x
        y.register_hook(hook)
        return 3 * y + 4 * y

    return function


def without_a_hook(x):
    y = 2 * x
    return 3 * y + 4 * y


def step(function):
    """Run forward and backward once, and return the gradient of the input."""
    x = paddle.to_tensor(1.0, stop_gradient=False)
    function(x).backward()
    return x.grad.item()


def accumulated_gradient(convert):
    return {"gradient": step(convert(two_uses(square)))}


def late_registration(convert):
    def between(x):
        y = 2 * x
        a = 3 * y
        y.register_hook(square)
        return a + 4 * y

    def after(x):
        y = 2 * x
        out = 3 * y + 4 * y
        y.register_hook(square)
        return out

    return {
        "between two uses": told(step, convert(between)),
        "after all uses": told(step, convert(after)),
    }


def registration_order(convert):
    def function(x):
        y = 2 * x
        y.register_hook(add_one)
        y.register_hook(square)
        return 3 * y

    return {"gradient": step(convert(function))}


def none_observes(convert):
    def look(gradient):
        gradient * gradient

    return {"gradient": step(convert(two_uses(look)))}


def effectful_body(convert):
    watch = Watch()
    function = convert(two_uses(lambda g: watch(g)))
    for _ in range(3):
        step(function)
    return watch.found(lambda g: g.item())


def state_at_backward(convert):
    state = {"factor": 2.0}
    function = convert(two_uses(lambda g: g * g * state["factor"]))
    step(function)
    state["factor"] = 10.0
    between_steps = step(function)
    x = paddle.to_tensor(1.0, stop_gradient=False)
    out = function(x)
    state["factor"] = 100.0
    out.backward()
    return {"between steps": between_steps, "between forward and backward": x.grad.item()}


def forward_capture(convert):
    def function(x):
        y = 2 * x
        y.register_hook(lambda g: g * g * z)
        z = y * y
        return 3 * y + 4 * y

    return {"gradient": step(convert(function))}


def remove_while_tracing(convert):
    def function(x):
        y = 2 * x
        handle = y.register_hook(square)
        out = 3 * y + 4 * y
        handle.remove()
        return out

    return {"gradient": step(convert(function))}


def exception_keeps_type(convert):
    state = {"broken": True}

    def hook(gradient):
        if state["broken"]:
            raise ValueError("broken")
        return gradient * gradient

    function = convert(two_uses(hook))
    out = function(paddle.to_tensor(1.0, stop_gradient=False))
    raised = harness.raised(out.backward)
    state["broken"] = False
    return {"exception": raised, "next step": told(step, function)}


def graphs(convert):
    if convert is eager:
        raise NoForm("eager mode has no graphs")

    def compiled(body):
        function = convert(body)
        with compiling() as counts:
            step(function)
        return counts["graphs"] if convert is sot else len(function.program_cache)

    return {
        "with a hook": compiled(two_uses(square)),
        "without": compiled(without_a_hook),
    }
