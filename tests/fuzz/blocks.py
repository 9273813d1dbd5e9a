"""Random blocks of code: statements, loops, branches, and functions of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .lines import Line, line
from .values import Module, Scope, Statements, Var


class Block:
    """Lines of one block, with the variables that are visible before each of them.

    Attributes:
        scope: the variables that are visible behind the last line.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.lines: list[Line] = []
        self.scopes: list[Scope] = [dict(scope)]

    def add(self, lines: Sequence[Line]) -> None:
        """Add lines; what they define is visible behind the last of them."""
        self.lines += lines
        self.scopes += [dict(self.scopes[-1]) for _ in lines[:-1]] + [dict(self.scope)]


class Writer(Statements):
    """Writes blocks of code; `decorate` adds hooks to a finished block."""

    def __init__(self, module: Module, decorate: Callable[[Block, int], list[Line]]) -> None:
        super().__init__(module)
        self._decorate = decorate

    def block(self, scope: Scope, size: int, depth: int) -> list[Line]:
        """Write `size` statements on the variables in `scope`, which gains what they define."""
        block = Block(scope)
        compound = [self._loop, self._branch, self._inner_function, self._helper]
        for _ in range(size):
            if depth < 2 and self.random.random() < 0.22:
                block.add(self.random.choice(compound)(scope, depth))
            else:
                block.add(self.statement(scope))
        return self._decorate(block, depth)

    def _loop(self, scope: Scope, depth: int) -> list[Line]:
        inner = dict(scope)
        index, a = self.module.name("i"), self.one(inner)
        carried = self.assign(inner, f"paddle.tanh({a.name} + 0.25 * {index})", a.shape, a)
        body = self.block(inner, self.random.randint(1, 3), depth + 1)
        self._leave(scope, inner)
        skip = [line(f"if {index} == 1:", line("continue"))] if self.random.random() < 0.1 else []
        heading = f"for {index} in range({self.random.randint(1, 3)}):"
        return [line(heading, *carried, *skip, *body)]

    def _branch(self, scope: Scope, depth: int) -> list[Line]:
        a = self.one(scope)
        tests = ["if FLAG:", "if not FLAG:", f"if {a.name}.ndim == {len(a.shape)}:"]
        if depth > 0 or self.random.random() < 0.7:
            return self._if(self.random.choice(tests), scope, depth)
        witness = self._witness(scope)
        with self.module.without_self():  # a layer in it would be one that only a branch uses
            return [witness, *self._if(f"if {a.name}.mean() > 0.25:", scope, depth)]

    def _witness(self, scope: Scope) -> Line:
        """Use all variables before an `if` on a tensor, in an output.

        The gradient of what only the branch that did not run uses is zeros in a static graph, with
        or without hooks, and none in eager mode.
        """
        name = self.module.name("w")
        self.module.witnesses.append(name)
        sums = [f"{var.name}.sum()" for var in scope.values() if var.trains]
        return line(f"{name} = {' + '.join(sums)}")

    def _if(self, test: str, scope: Scope, depth: int) -> list[Line]:
        taken, other = dict(scope), dict(scope)
        written = [line(test, *self.block(taken, self.random.randint(1, 3), depth + 1))]
        if self.random.random() < 0.5:
            written.append(line("else:", *self.block(other, self.random.randint(1, 2), depth + 1)))
        self._leave(scope, taken)
        self._leave(scope, other)
        return written

    def _leave(self, scope: Scope, inner: Scope) -> None:
        """Keep what a block did to the variables that were there before it."""
        for name in scope:
            trains = scope[name].trains and inner[name].trains
            scope[name] = replace(scope[name], trains=trains, changes=False)

    def _inner_function(self, scope: Scope, depth: int) -> list[Line]:
        """Call a function nested in this one, which reads this one's variables."""
        reachable = {name: replace(var, is_fixed=True) for name, var in scope.items()}
        a = self.pick(scope, lambda var: not var.changes)
        if a is None:
            return self.statement(scope)
        definition, call, result = self._function("inner", [a], reachable, depth)
        return [definition, *self._called(scope, call, result)]

    def _helper(self, scope: Scope, depth: int) -> list[Line]:
        """Call a function of the module."""
        a, b = (self.pick(scope, lambda var: not var.changes) for _ in range(2))
        if a is None or b is None:
            return self.statement(scope)
        with self.module.without_self():
            definition, call, result = self._function("helper", [a, b], {}, depth)
        self.module.functions.append(definition)
        return self._called(scope, call, result)

    def _called(self, scope: Scope, call: str, result: Var) -> list[Line]:
        name = self.module.name("v")
        scope[name] = replace(result, name=name, changes=False, is_fixed=False)
        return [line(f"{name} = {call}")]

    def _function(
        self, prefix: str, arguments: Sequence[Var], reachable: Scope, depth: int
    ) -> tuple[Line, str, Var]:
        """Write a function; return its definition, a call of it, and its result."""
        name = self.module.name(prefix)
        parameters = [replace(a, name=self.module.name("p"), is_fixed=False) for a in arguments]
        inner = reachable | {parameter.name: parameter for parameter in parameters}
        body = self.block(inner, self.random.randint(1, 3), depth + 1)
        result = self.pick(inner, lambda var: not var.is_fixed) or parameters[0]
        heading = f"def {name}({', '.join(parameter.name for parameter in parameters)}):"
        call = f"{name}({', '.join(a.name for a in arguments)})"
        return line(heading, *body, line(f"return {result.name}")), call, result
