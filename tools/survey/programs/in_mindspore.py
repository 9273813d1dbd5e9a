"""The probes in MindSpore: PyNative, graph mode (`jit`), and `jit(capture_mode="bytecode")`."""

# ruff: noqa: D103 - what each probe asks is written once, in ../probes.py

from functools import partial

import harness
import mindspore
from harness import NoForm, Watch, told
from mindspore import Tensor, nn

MODES = {
    "pynative": lambda function: function,
    "graph": mindspore.jit,
    "bytecode": partial(mindspore.jit, capture_mode="bytecode"),
}

ONE_STEP = "no form: forward and backward run as one"


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


def step(function):
    """Run forward and backward once, and return the gradient of the input."""
    x = Tensor(1.0, mindspore.float32)
    return mindspore.grad(function)(x).asnumpy().item()


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

    def hook(gradient):
        watch(gradient)
        return gradient * gradient

    function = convert(two_uses(hook))
    for _ in range(3):
        step(function)
    return watch.found(lambda g: g.asnumpy().item())


def state_at_backward(convert):
    state = {"factor": 2.0}

    def hook(gradient):
        return gradient * gradient * state["factor"]

    function = convert(two_uses(hook))
    step(function)
    state["factor"] = 10.0
    return {"between steps": step(function), "between forward and backward": ONE_STEP}


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
    raised = harness.raised(step, function)
    state["broken"] = False
    return {"exception": raised, "next step": told(step, function)}


def graphs(mode):
    raise NoForm("it has no public counter of graphs")


class Net(nn.Cell):
    """Twelve dense layers of 64, with a hook after each or none."""

    def __init__(self, hooked):
        super().__init__()
        self.layers = nn.CellList([nn.Dense(64, 64) for _ in range(12)])
        self.hooked = hooked

    def construct(self, x):
        """Apply all layers and add up."""
        for layer in self.layers:
            x = mindspore.ops.relu(layer(x))
            if self.hooked:
                x.register_hook(halve)
        return x.sum()


def halve(gradient):
    return gradient * 0.5


def step_time(convert):
    x = mindspore.ops.ones((8, 64), mindspore.float32)

    def stepper(hooked):
        mindspore.set_seed(0)
        net = Net(hooked)
        function = convert(mindspore.grad(net, grad_position=None, weights=net.trainable_params()))
        return lambda: function(x)[0].asnumpy()

    return harness.ratio(stepper(True), stepper(False))


if __name__ == "__main__":
    harness.main(globals(), MODES)
