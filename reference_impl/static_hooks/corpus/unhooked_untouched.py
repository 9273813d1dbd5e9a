"""With no hook registered, every program is operation for operation what it was."""

import paddle
from paddle import nn

import static_hooks

from . import Scenario, converted

WITH_A_PROGRAM = {
    "eager": "eager mode has no program",
    "sot": "SOT compiles through the same programs as AST mode",
    "program": "the scenario builds `to_static` programs",
}


class Net(nn.Layer):
    """A net with a branch, a split and a normalisation."""

    def __init__(self, hook=None):
        super().__init__()
        self.fc, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)
        self.hook = hook

    def forward(self, x):
        """Use all of them; hook an intermediate where there is a hook."""
        h = paddle.tanh(self.fc(x))
        if self.hook is not None:
            h.register_hook(self.hook)
        a, b = paddle.split(h, 2, axis=-1)
        h = paddle.concat([a * b, a], axis=-1)
        return self.norm(h + x).sum()


def _operations(mode, layer):
    """List the operations of the forward program and of the whole training program."""
    run = converted(layer, mode)
    run(paddle.ones([2, 4])).backward()
    _, partial = run.forward.get_concrete_program(paddle.ones([2, 4]))
    programs = (partial.infer_program.program, partial.train_program.program)
    return [[op.name() for op in program.global_block().ops] for program in programs]


def training_program(mode):
    """The training program of a net without hooks, enabled and not."""
    enabled = _operations(mode, Net())
    static_hooks.disable()
    return _operations(mode, Net()) == enabled


def inference_program(mode):
    """The forward program of a hooked net is that of the net without hooks."""
    hooked = _operations(mode, Net(lambda g: g * g))
    unhooked = _operations(mode, Net())
    return [hooked[0] == unhooked[0], hooked[1] == unhooked[1]]


ENTRIES = [
    Scenario(training_program, True, not_applicable=WITH_A_PROGRAM),
    Scenario(inference_program, [True, False], not_applicable=WITH_A_PROGRAM),
]
