"""The probes in TensorFlow: a hook is an identity with a gradient of its own, in `tf.function`."""

# ruff: noqa: D103 - what each probe asks is written once, in ../probes.py

import harness
import tensorflow as tf
from harness import NoForm, Watch, told

MODES = {"function": tf.function}
NO_HANDLE = "custom_gradient gives no handle: a hook is part of the function"


def hooked(y, hook):
    """Return `y` with a hook for the uses of the result."""

    @tf.custom_gradient
    def identity(y):
        def backward(gradient):
            result = hook(gradient)
            return gradient if result is None else result

        return tf.identity(y), backward

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


def step(function):
    """Run forward and backward once, and return the gradient of the input."""
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        out = function(x)
    return tape.gradient(out, x).numpy().item()


def accumulated_gradient(convert):
    return {"gradient": step(convert(two_uses(square)))}


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
        "between two uses": told(step, convert(between)),
        "after all uses": told(step, convert(after)),
    }


def registration_order(convert):
    def function(x):
        y = hooked(2 * x, add_one)
        y = hooked(y, square)
        return 3 * y

    return {"gradient": step(convert(function))}


def none_observes(convert):
    def look(gradient):
        gradient * gradient

    return {"gradient": step(convert(two_uses(look)))}


def effectful_body(convert):
    watch, called_back = Watch(), Watch()

    def call_back(gradient):
        called_back(gradient)
        return gradient

    function = convert(two_uses(watch))
    calling = convert(two_uses(lambda g: tf.py_function(call_back, [g], g.dtype)))
    for _ in range(3):
        step(function)
        step(calling)
    found = watch.found(lambda g: g.numpy().item())
    return {**found, "calls through tf.py_function": called_back.calls}


def state_at_backward(convert):
    state = {"factor": 2.0}
    function = convert(two_uses(lambda g: g * g * state["factor"]))
    step(function)
    state["factor"] = 10.0
    between_steps = step(function)
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        out = function(x)
    state["factor"] = 100.0
    at_backward = tape.gradient(out, x).numpy().item()
    return {"between steps": between_steps, "between forward and backward": at_backward}


def forward_capture(convert):
    def function(x):
        y = hooked(2 * x, lambda g: g * g * z)
        z = y * y
        return 3 * y + 4 * y

    return {"gradient": step(convert(function))}


def remove_while_tracing(convert):
    raise NoForm(NO_HANDLE)


def exception_keeps_type(convert):
    state = {"broken": True}

    def hook(gradient):
        if state["broken"]:
            raise ValueError("broken")
        return gradient * gradient

    function = convert(two_uses(hook))
    raised = harness.raised(step, function)
    state["broken"] = False
    return {"exception": raised, "next step": told(step, function)}


def graphs(convert):
    def compiled(body):
        function = convert(body)
        for _ in range(3):
            step(function)
        return function.experimental_get_tracing_count()

    return {
        "with a hook": compiled(two_uses(square)),
        "without": compiled(lambda x: 3 * (2 * x) + 4 * (2 * x)),
    }


def step_time(convert):
    tf.random.set_seed(0)
    weights = [tf.Variable(tf.random.normal((64, 64)) / 8) for _ in range(12)]
    x = tf.ones((8, 64))

    def stepper(is_hooked):
        def gradients():
            with tf.GradientTape() as tape:
                h = x
                for weight in weights:
                    h = tf.nn.relu(h @ weight)
                    if is_hooked:
                        h = hooked(h, lambda g: g * 0.5)
                loss = tf.reduce_sum(h)
            return tape.gradient(loss, weights)

        function = convert(gradients)
        return lambda: function()[0].numpy()

    return harness.ratio(stepper(True), stepper(False))


if __name__ == "__main__":
    harness.main(globals(), MODES)
