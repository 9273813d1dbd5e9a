"""Random modules: a model or a function that registers hooks, and a session that trains it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from .blocks import Writer
from .hooks import Decorator
from .lines import Line, Program, hook_line, line
from .values import Module, Scope, Shape, Var

SHAPES: tuple[Shape, ...] = ((3,), (2, 3), (2, 3), (3, 2), (2, 2), (4,), (2, 4))
HEADER = (
    "import functools",
    "import numpy as np",
    "import paddle",
    "import static_hooks",
    "LOG, LEAF_LOG, HANDLES, COUNT = [], [], {}, {}",
    "STATE, BOX, NUMBER, FLAG = {'k': 0.5}, [0.75], 1.5, True",
)
STATE_CHANGES = ("STATE['k'] = {n}", "BOX.append({n})", "NUMBER = {n}", "model.number = {n}")


def generate(seed: str) -> Program:
    """Make up the program of a seed."""
    return _Generator(Random(seed)).program()


class _Generator:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.is_layer = random.random() < 0.5
        self.module = Module(random, self.is_layer)
        self.hooks = Decorator(self.module, random.randint(1, 6))
        shapes = [random.choice(SHAPES) for _ in range(random.randint(1, 3))]
        trains = [True, *(random.random() < 0.8 for _ in shapes[1:])]
        self.inputs = [
            Var(f"x{i}", shape, trained, is_input=True)
            for i, (shape, trained) in enumerate(zip(shapes, trains, strict=True))
        ]

    def program(self) -> Program:
        """Write the module, from the inside out."""
        writer = Writer(self.module, self.hooks)
        scope: Scope = {var.name: var for var in self.inputs}
        body = writer.block(scope, self.random.randint(3, 10), 0)
        # Eager mode has no operation for an input handed back, which shows in the order of calls.
        recent = [var for var in scope.values() if not var.is_input][-6:] or self._made(body, scope)
        outputs = self.random.sample(recent, min(len(recent), self.random.randint(1, 3)))
        outputs += [Var(name, ()) for name in self.module.witnesses]
        returned, read = self._structure([var.name for var in outputs])
        body.append(line(f"return {returned}"))
        names = ", ".join(var.name for var in self.inputs)
        owner = self._model(body, names) if self.is_layer else self._function(body, names)
        header = [line(text) for text in HEADER]
        session = self._session(read)
        return (*header, *self.module.functions, *owner, session)

    def _made(self, body: list[Line], scope: Scope) -> list[Var]:
        """Make an output where nothing else did."""
        body.append(line("out = x0 * x0"))
        return [replace(scope["x0"], name="out", is_input=False)]

    def _structure(self, names: list[str]) -> tuple[str, list[str]]:
        """Choose how the function returns its outputs, and how its caller reads them."""
        count = range(len(names))
        if len(names) == 1 and self.random.random() < 0.7:
            return names[0], ["{o}"]
        if self.random.random() < 0.2:
            pairs = ", ".join(f"'o{i}': {name}" for i, name in enumerate(names))
            return f"{{{pairs}}}", [f"{{o}}['o{i}']" for i in count]
        return f"[{', '.join(names)}]", [f"{{o}}[{i}]" for i in count]

    def _model(self, body: list[Line], names: str) -> list[Line]:
        setup = [line("super().__init__()"), line("self.number = 0.75"), *self.module.setup]
        for name, shape in self.module.parameters.items():
            if self.random.random() < 0.1 and self.hooks.left > 0:
                setup.append(hook_line(f"{name}.register_hook(lambda g: g * g * {len(shape)}.0)"))
        return [
            line(
                "class Model(paddle.nn.Layer):",
                line("def __init__(self):", *setup),
                *self.module.methods,
                line(f"def forward(self, {names}):", *body),
            )
        ]

    def _function(self, body: list[Line], names: str) -> list[Line]:
        return [line(f"def model({names}):", *body)]

    def _session(self, read: list[str]) -> Line:
        lines = [line("global NUMBER"), line("paddle.set_default_dtype('float64')")]
        lines += [line("paddle.seed(1)"), line("model = Model()")] if self.is_layer else []
        lines += [line("forward = convert(model)")]
        lines += [line("results = []")]
        arguments = []
        for var in self.inputs:
            value, made = self._input(var)
            lines += made
            arguments.append(value)
        for _ in range(self.random.choice([1, 1, 2, 3])):
            lines += self._round(read, ", ".join(arguments))
        # The order in which a static graph calls the hooks on its leaves is its own: a known limit.
        lines.append(hook_line("LOG.extend(sorted(LEAF_LOG, key=lambda call: call[0]))"))
        leaves = ", ".join(f"{var.name}.grad" for var in self.inputs if var.trains)
        parameters = ", *(p.grad for p in model.parameters())" if self.is_layer else ""
        return line(
            "def session(convert):", *lines, line(f"return [*results, {leaves}{parameters}]")
        )

    def _input(self, var: Var) -> tuple[str, list[Line]]:
        """Make an input: a leaf, or sometimes the result of an operation outside."""
        made = f"paddle.to_tensor({self._numbers(var.shape)}, stop_gradient={not var.trains})"
        lines = [line(f"{var.name} = {made}")]
        if var.trains and self.random.random() < 0.2:
            return f"{var.name} * 1.25", lines
        return var.name, lines

    def _numbers(self, shape: Shape) -> object:
        if not shape:
            return round(self.random.uniform(-1.2, 1.2), 2)
        return [self._numbers(shape[1:]) for _ in range(shape[0])]

    def _round(self, read: list[str], arguments: str) -> list[Line]:
        lines = [line(f"o = forward({arguments})")]
        # What follows an output is the same for all: its length would show in the order of calls.
        loss = self.random.choice(["{o}.sum()", "({o} * {o}).sum() * 0.5"])
        terms = [loss.format(o=text.format(o="o")) for text in read]
        if self.random.random() < 0.15:  # a use of an input outside the function
            terms.append(f"({self.inputs[0].name} * {self.inputs[0].name}).sum()")
        twice = self.random.random() < 0.1 and not self.hooks.counts
        if twice:
            lines.append(line(f"again = forward({arguments})"))
            terms += [f"paddle.tanh({text.format(o='again')}).sum()" for text in read]
        lines += self._events()
        results = ", ".join(text.format(o="o") for text in read)
        lines.append(line(f"loss = paddle.add_n([{', '.join(terms)}])"))
        if self.random.random() < 0.06 and not self.is_layer:
            # Of all inputs: eager mode leaves out what leads to no other, a static graph does not.
            leaves = ", ".join(var.name for var in self.inputs if var.trains)
            gradients = f"paddle.grad([loss], [{leaves}], allow_unused=True)"
            lines.append(line(f"results.append({gradients})"))
        else:
            lines.append(line("loss.backward()"))
        if twice:  # eager mode interleaves the two runs, a static graph is one operation for it
            lines.append(hook_line("LOG.sort(key=str)"))
        lines.append(line(f"results.append([loss, {results}])"))
        return [*lines, *self._events()]

    def _events(self) -> list[Line]:
        """Change between forward and backward, or between steps, what hooks depend on."""
        lines = []
        if self.random.random() < 0.2:
            change = self.random.choice(STATE_CHANGES[: 4 if self.is_layer else 3])
            lines.append(hook_line(change.format(n=self.random.randint(5, 27) / 16)))
        if self.hooks.handles and self.random.random() < 0.3:
            name = self.random.choice(self.hooks.handles)
            removed = f"HANDLES['{name}'].remove()"
            lines.append(hook_line(f"results.append('{name}' in HANDLES and {removed})"))
        return lines
