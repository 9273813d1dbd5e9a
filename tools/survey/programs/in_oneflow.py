"""The probes in OneFlow: eager, and a static `nn.Graph` that trains one weight."""

# ruff: noqa: D103 - what each probe asks is written once, in ../probes.py

import harness
import oneflow as flow
from harness import NoForm, Watch, told

MODES = {"eager": "eager", "graph": "graph"}
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


class Training(flow.nn.Graph):
    """A static graph of forward, backward and one step of gradient descent."""

    def __init__(self, weight, function):
        super().__init__()
        self.weight, self.function = weight, function
        self.add_optimizer(flow.optim.SGD([weight.weight], lr=1.0))

    def build(self, x):
        """Run a training step."""
        out = self.function(self.weight(x)).sum()
        out.backward()
        return out


def stepper(mode, function):
    """Return a function that runs forward and backward once and returns the input's gradient."""
    if mode == "eager":

        def one_step():
            x = flow.tensor(1.0, requires_grad=True)
            function(x).backward()
            return x.grad.numpy().item()

        return one_step

    # The function's input is a weight of 1: what a step takes from it is its gradient.
    weight = flow.nn.Linear(1, 1, bias=False)
    flow.nn.init.constant_(weight.weight, 1.0)
    training = Training(weight, function)

    def one_step():
        before = weight.weight.numpy().item()
        training(flow.ones(1, 1))
        return round(before - weight.weight.numpy().item(), 3)

    return one_step


def accumulated_gradient(mode):
    return {"gradient": stepper(mode, two_uses(square))()}


def late_registration(mode):
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
        "between two uses": told(stepper(mode, between)),
        "after all uses": told(stepper(mode, after)),
    }


def registration_order(mode):
    def function(x):
        y = 2 * x
        y.register_hook(add_one)
        y.register_hook(square)
        return 3 * y

    return {"gradient": stepper(mode, function)()}


def none_observes(mode):
    def look(gradient):
        gradient * gradient

    return {"gradient": stepper(mode, two_uses(look))()}


def effectful_body(mode):
    watch = Watch()
    step = stepper(mode, two_uses(lambda g: watch(g)))
    for _ in range(3):
        step()
    return watch.found(lambda g: g.numpy().item())


def state_at_backward(mode):
    state = {"factor": 2.0}
    function = two_uses(lambda g: g * g * state["factor"])
    step = stepper(mode, function)
    step()
    state["factor"] = 10.0
    between_steps = step()
    if mode == "graph":
        return {"between steps": between_steps, "between forward and backward": ONE_STEP}
    x = flow.tensor(1.0, requires_grad=True)
    out = function(x)
    state["factor"] = 100.0
    out.backward()
    at_backward = x.grad.numpy().item()
    return {"between steps": between_steps, "between forward and backward": at_backward}


def forward_capture(mode):
    def function(x):
        y = 2 * x
        y.register_hook(lambda g: g * g * z)
        z = y * y
        return 3 * y + 4 * y

    return {"gradient": stepper(mode, function)()}


def remove_while_tracing(mode):
    def function(x):
        y = 2 * x
        handle = y.register_hook(square)
        out = 3 * y + 4 * y
        handle.remove()
        return out

    return {"gradient": stepper(mode, function)()}


def exception_keeps_type(mode):
    state = {"broken": True}

    def hook(gradient):
        if state["broken"]:
            raise ValueError("broken")
        return gradient * gradient

    step = stepper(mode, two_uses(hook))
    raised = harness.raised(step)
    state["broken"] = False
    return {"exception": raised, "next step": told(step)}


def graphs(mode):
    raise NoForm("it has no public counter of graphs")


class Net(flow.nn.Module):
    """Twelve linear layers of 64, with a hook after each or none."""

    def __init__(self, hooked):
        super().__init__()
        self.layers = flow.nn.ModuleList([flow.nn.Linear(64, 64) for _ in range(12)])
        self.hooked = hooked

    def forward(self, x):
        """Apply all layers."""
        for layer in self.layers:
            x = flow.relu(layer(x))
            if self.hooked:
                x.register_hook(lambda g: g * 0.5)
        return x


class Descent(flow.nn.Graph):
    """One step of gradient descent of a network."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        self.add_optimizer(flow.optim.SGD(net.parameters(), lr=1e-6))

    def build(self, x):
        """Run a training step."""
        loss = self.net(x).sum()
        loss.backward()
        return loss


def step_time(mode):
    x = flow.ones(8, 64)

    def stepper(hooked):
        flow.manual_seed(0)
        net = Net(hooked)
        if mode == "graph":
            descent = Descent(net)
            return lambda: descent(x).numpy()

        def one_step():
            net.zero_grad()
            net(x).sum().backward()
            net.layers[0].weight.grad.numpy()

        return one_step

    return harness.ratio(stepper(True), stepper(False))


if __name__ == "__main__":
    harness.main(globals(), MODES)
