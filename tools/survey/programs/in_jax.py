"""The probes in JAX: a hook is an identity function with a backward of its own (`custom_vjp`)."""

# ruff: noqa: D103 - what each probe asks is written once, in ../probes.py

import harness
import jax
import jax.numpy as jnp
from harness import NoForm, Watch, told

MODES = {"jit": jax.jit}
NO_HANDLE = "custom_vjp gives no handle: a hook is part of the function"


def hooked(y, hook):
    """Return `y` with a hook for the uses of the result."""

    @jax.custom_vjp
    def identity(y):
        return y

    def backward(_, gradient):
        result = hook(gradient)
        return (gradient if result is None else result,)

    identity.defvjp(lambda y: (y, None), backward)
    return identity(y)


def square(gradient):
    return gradient * gradient


def add_one(gradient):
    return gradient + 1


def two_uses(hook):
    """Make the function that most probes run: a hook before two uses of its tensor."""

    def function(x):
        y = hooked(2 * x, hook)
        return 3 * y + 4 * y

    return function


def gradient(convert, function):
    """Return the input's gradient at 1."""
    return convert(jax.grad(function))(1.0).item()


def accumulated_gradient(convert):
    return {"gradient": gradient(convert, two_uses(square))}


def late_registration(convert):
    def between(x):
        y = 2 * x
        a = 3 * y
        y = hooked(y, square)
        return a + 4 * y

    def after(x):
        y = 2 * x
        out = 3 * y + 4 * y
        y = hooked(y, square)
        return out

    return {
        "between two uses": told(gradient, convert, between),
        "after all uses": told(gradient, convert, after),
    }


def registration_order(convert):
    def function(x):
        y = hooked(2 * x, add_one)
        y = hooked(y, square)
        return 3 * y

    return {"gradient": gradient(convert, function)}


def none_observes(convert):
    def look(gradient):
        gradient * gradient

    return {"gradient": gradient(convert, two_uses(look))}


def effectful_body(convert):
    watch, called_back = Watch(), Watch()
    function = convert(jax.grad(two_uses(watch)))
    calling = convert(jax.grad(two_uses(lambda g: jax.debug.callback(called_back, g))))
    for _ in range(3):
        function(1.0)
        calling(1.0)
    jax.effects_barrier()
    found = watch.found(lambda g: g.item())
    return {**found, "calls through jax.debug.callback": called_back.calls}


def state_at_backward(convert):
    state = {"factor": 2.0}
    function = convert(two_uses(lambda g: g * g * state["factor"]))
    gradient(convert, function)
    state["factor"] = 10.0
    between_steps = gradient(convert, function)
    out, backward = jax.vjp(function, 1.0)
    state["factor"] = 100.0
    at_backward = backward(jnp.ones_like(out))[0].item()
    return {"between steps": between_steps, "between forward and backward": at_backward}


def forward_capture(convert):
    def function(x):
        y = hooked(2 * x, lambda g: g * g * z)
        z = y * y
        return 3 * y + 4 * y

    return {"gradient": gradient(convert, function)}


def remove_while_tracing(convert):
    raise NoForm(NO_HANDLE)


def exception_keeps_type(convert):
    state = {"broken": True}

    def hook(gradient):
        if state["broken"]:
            raise ValueError("broken")
        return gradient * gradient

    function = convert(jax.grad(two_uses(hook)))
    raised = harness.raised(function, 1.0)
    state["broken"] = False
    return {"exception": raised, "next step": told(lambda: function(1.0).item())}


def graphs(convert):
    def compiled(body):
        function = convert(jax.grad(body))
        for x in (1.0, 2.0, 3.0):
            function(x)
        return function._cache_size()

    return {
        "with a hook": compiled(two_uses(square)),
        "without": compiled(lambda x: 3 * (2 * x) + 4 * (2 * x)),
    }


def step_time(convert):
    keys = jax.random.split(jax.random.key(0), 12)
    weights = [jax.random.normal(key, (64, 64)) / 8 for key in keys]
    x = jnp.ones((8, 64))

    def stepper(is_hooked):
        def loss(weights):
            h = x
            for weight in weights:
                h = jax.nn.relu(h @ weight)
                if is_hooked:
                    h = hooked(h, lambda g: g * 0.5)
            return h.sum()

        function = convert(jax.grad(loss))
        return lambda: jax.block_until_ready(function(weights))

    return harness.ratio(stepper(True), stepper(False))


if __name__ == "__main__":
    harness.main(globals(), MODES)
