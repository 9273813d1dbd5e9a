"""Random tensor code: the part of a program that Paddle must get right without any hook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random

from .lines import Line, line
from .operations import BINARY, BROADCAST, IN_PLACE, REDUCE, UNARY

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Var:
    """A variable of the program.

    Attributes:
        shape: its shape.
        trains: whether gradients flow to it.
        is_input: whether it is an input or a parameter, and no result of an operation.
        changes: whether it will be changed in place: then it is read by name only, since what holds
            the tensor itself sees the change in eager mode alone.
        is_fixed: whether the code may only read it: a variable of an enclosing function.
    """

    name: str
    shape: Shape
    trains: bool = True
    is_input: bool = False
    changes: bool = False
    is_fixed: bool = False


Scope = dict[str, Var]


@dataclass
class Module:
    """The parts of a module, as far as they are written.

    Attributes:
        functions: at module level.
        setup: in `__init__`.
        methods: of the model.
        is_layer: whether there is a model, or just a function.
        parameters: expressions for the model's parameters, and their shapes.
        witnesses: variables of shape [] that the function has to return as well.
    """

    random: Random
    is_layer: bool
    functions: list[Line] = field(default_factory=list)
    setup: list[Line] = field(default_factory=list)
    methods: list[Line] = field(default_factory=list)
    parameters: dict[str, Shape] = field(default_factory=dict)
    witnesses: list[str] = field(default_factory=list)
    _names: int = 0

    def name(self, prefix: str) -> str:
        """Make up a name."""
        self._names += 1
        return f"{prefix}{self._names}"

    @contextmanager
    def without_self(self) -> Iterator[None]:
        """Write code that does not use the model."""
        is_layer, self.is_layer = self.is_layer, False
        yield
        self.is_layer = is_layer


class Statements:
    """Writes single statements on the variables of a scope, which gains what they define."""

    def __init__(self, module: Module) -> None:
        self.module, self.random = module, module.random
        self._weights: dict[Callable[[Scope], list[Line]], int] = {
            self._unary: 6,
            self._binary: 6,
            self._reduce: 2,
            self._shaped: 3,
            self._split: 3,
            self._joined: 3,
            self._matmul: 2,
            self._in_place: 1,
            self._kept: 1,
            self._alias: 1,
            self._linear: 3,
        }

    def statement(self, scope: Scope) -> list[Line]:
        """Write a statement."""
        (write,) = self.random.choices([*self._weights], [*self._weights.values()])
        return write(scope)

    def pick(self, scope: Scope, fits: Callable[[Var], bool]) -> Var | None:
        """Choose a variable that fits, a recent one rather than an old one."""
        fitting = [var for var in scope.values() if fits(var)]
        if not fitting:
            return None
        return self.random.choices(fitting, range(1, len(fitting) + 1))[0]

    def one(self, scope: Scope) -> Var:
        """Choose any variable."""
        return self.pick(scope, lambda var: True) or next(iter(scope.values()))

    def like(self, scope: Scope, shape: Shape) -> Var:
        """Choose a variable of a shape that one of them has."""
        return self.pick(scope, lambda var: var.shape == shape) or self.one(scope)

    def assign(self, scope: Scope, text: str, shape: Shape, *operands: Var) -> list[Line]:
        """Write `name = text`, for a new name or one that is bound anew."""
        trains = any(operand.trains for operand in operands)
        name = self.module.name("v")
        same = [v.name for v in scope.values() if v.shape == shape and not v.is_fixed and trains]
        changes = trains and self.random.random() < 0.1
        if same and not changes and self.random.random() < 0.25:
            name = self.random.choice(same)
        scope.pop(name, None)
        scope[name] = Var(name, shape, trains, changes=changes)
        simpler = [f"{name} = {o.name}" for o in operands if o.shape == shape]
        return [line(f"{name} = {text}", simpler=simpler)]

    def _unary(self, scope: Scope) -> list[Line]:
        a = self.one(scope)
        text = self.random.choice(UNARY).format(a=a.name)
        return self.assign(scope, text, a.shape, a)

    def _binary(self, scope: Scope) -> list[Line]:
        a = self.one(scope)
        b, texts = self.like(scope, a.shape), BINARY
        if self.random.random() < 0.3:
            rank = len(a.shape)
            wider = self.pick(scope, lambda var: var.shape[len(var.shape) - rank :] == a.shape)
            a, b, texts = wider or a, a, BROADCAST
        text = self.random.choice(texts).format(a=a.name, b=b.name)
        return self.assign(scope, text, a.shape, a, b)

    def _reduce(self, scope: Scope) -> list[Line]:
        a = self.pick(scope, lambda var: len(var.shape) > 0)
        if a is None:
            return self._unary(scope)
        axis = self.random.randrange(len(a.shape))
        shape = a.shape[:axis] + a.shape[axis + 1 :]
        text = self.random.choice(REDUCE).format(a=a.name, axis=axis)
        return self.assign(scope, text, shape, a)

    def _shaped(self, scope: Scope) -> list[Line]:
        a = self.pick(scope, lambda var: len(var.shape) == 2)
        if a is None:
            return self._unary(scope)
        rows, columns = a.shape
        text, shape = self.random.choice(
            [
                ("{a}.transpose([1, 0])", (columns, rows)),
                (f"paddle.reshape({{a}}, [1, {rows * columns}])", (1, rows * columns)),
                ("{a}.flatten()", (rows * columns,)),
                ("{a}[0]", (columns,)),
                (f"{{a}}[:, {columns - 1}]", (rows,)),
                (f"{{a}}[{rows - 1}:]", (1, columns)),
                ("{a}.unsqueeze(0)", (1, rows, columns)),
                ("{a}.expand([2, -1, -1])", (2, rows, columns)),
                ("paddle.nn.functional.softmax({a}, axis=-1)", a.shape),
                (f"paddle.nn.functional.layer_norm({{a}}, [{columns}])", a.shape),
                ("paddle.cumsum({a}, axis=0)", a.shape),
                ("paddle.gather({a}, paddle.to_tensor([0, 0]))", (2, columns)),
                ("paddle.einsum('ij,kj->ik', {a}, {a})", (rows, rows)),
            ]
        )
        return self.assign(scope, text.format(a=a.name), shape, a)

    def _split(self, scope: Scope) -> list[Line]:
        sizes = (2, 3, 4)
        a = self.pick(scope, lambda var: any(size in sizes for size in var.shape))
        if a is None:
            return self._unary(scope)
        axis = self.random.choice([i for i, size in enumerate(a.shape) if size in sizes])
        before, size, after = a.shape[:axis], a.shape[axis], a.shape[axis + 1 :]
        text, count, part = self.random.choice(
            [
                (f"paddle.split({a.name}, {size}, axis={axis})", size, (*before, 1, *after)),
                (f"paddle.unbind({a.name}, axis={axis})", size, (*before, *after)),
                (f"paddle.split({a.name}, [1, -1], axis={axis})", 2, (*before, size - 1, *after)),
            ]
        )
        names = [self.module.name("v") for _ in range(count)]
        scope.update({name: Var(name, part, a.trains) for name in names})
        if "[1, -1]" in text:
            scope[names[0]] = Var(names[0], (*before, 1, *after), a.trains)
        return [line(f"{', '.join(names)} = {text}")]

    def _joined(self, scope: Scope) -> list[Line]:
        a = self.pick(scope, lambda var: 0 < len(var.shape) < 3 and var.shape[0] <= 4)
        if a is None:
            return self._unary(scope)
        b = self.like(scope, a.shape)
        rows, rest = a.shape[0], a.shape[1:]
        text, shape = self.random.choice(
            [
                ("paddle.concat([{a}, {b}])", (2 * rows, *rest)),
                ("paddle.stack([{a}, {b}])", (2, *a.shape)),
                ("paddle.stack([{a}, {b}]).mean(axis=0)", a.shape),
            ]
        )
        return self.assign(scope, text.format(a=a.name, b=b.name), shape, a, b)

    def _matmul(self, scope: Scope) -> list[Line]:
        a = self.pick(scope, lambda var: len(var.shape) == 2)
        if a is None:
            return self._unary(scope)
        rows, columns = a.shape
        b = self.pick(scope, lambda var: len(var.shape) == 2 and var.shape[0] == columns)
        if b is None:
            text = f"paddle.matmul({a.name}, {a.name}, transpose_y=True)"
            return self.assign(scope, text, (rows, rows), a)
        return self.assign(scope, f"{a.name} @ {b.name}", (rows, b.shape[1]), a, b)

    def _alias(self, scope: Scope) -> list[Line]:
        """Give a tensor a second name."""
        a = self.pick(scope, lambda var: not var.changes)
        if a is None:
            return self._unary(scope)
        name = self.module.name("v")
        scope[name] = replace(a, name=name, is_fixed=False)
        return [line(f"{name} = {a.name}")]

    def _in_place(self, scope: Scope) -> list[Line]:
        a = self.pick(scope, lambda var: var.changes and not var.is_fixed)
        if a is None:
            return self._unary(scope)
        b = self.pick(scope, lambda var: var.shape == a.shape and var.name != a.name)
        texts = IN_PLACE if b else [text for text in IN_PLACE if "{b}" not in text]
        text = self.random.choice(texts).format(a=a.name, b=b.name if b else "")
        scope[a.name] = scope.pop(a.name)
        return [line(f"{a.name} = {text}")]

    def _kept(self, scope: Scope) -> list[Line]:
        """Go through a list or a dict."""
        a, b, box = self.one(scope), self.one(scope), self.module.name("box")
        kept, read = self.random.choice(
            [
                (f"[{a.name}, {b.name}]", "[0]"),
                (f"{{'a': {a.name}, 'b': {b.name}}}", "['a']"),
                (f"[v * 0.5 for v in ({a.name}, {b.name})]", "[0]"),
            ]
        )
        return [line(f"{box} = {kept}"), *self.assign(scope, f"{box}{read} * 1.125", a.shape, a)]

    def _linear(self, scope: Scope) -> list[Line]:
        a = self.pick(scope, lambda var: len(var.shape) == 2)
        if a is None or not self.module.is_layer:
            return self._unary(scope)
        wide, name = self.random.choice([2, 3]), self.module.name("linear")
        self.module.setup.append(line(f"self.{name} = paddle.nn.Linear({a.shape[1]}, {wide})"))
        self.module.parameters[f"self.{name}.weight"] = (a.shape[1], wide)
        self.module.parameters[f"self.{name}.bias"] = (wide,)
        trained = replace(a, trains=True)
        return self.assign(scope, f"self.{name}({a.name})", (a.shape[0], wide), trained)
