"""Random hooks: every kind of body in every form of callable, at random places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .blocks import Block
from .lines import Line, hook_line
from .values import Module, Scope, Var

PURE = (
    "g * g",
    "g * g * 0.5 + 0.125",
    "paddle.tanh(g)",
    "paddle.clip(g, -0.625, 0.625)",
    "g.abs() - 0.25",
    "g / (1.0 + g * g)",
    "paddle.where(g > 0.125, g, g * 0.25)",
    "g * 0.5",
)
CAPTURING = ("{g} * {c}.mean()", "{g} + paddle.tanh({c}).sum() * 0.125", "{g} * (1.0 + {c}.max())")
CAPTURING_LIKE = ("{g} * {c}", "{g} + 0.25 * {c} * {c}", "paddle.maximum({g}, {c})")
STATE = ("STATE['k']", "NUMBER", "BOX[-1]", "len(BOX)")
BODIES = ("pure", "observe", "effect", "count", "branch", "numpy", "state")


@dataclass
class Body:
    """The body of one hook.

    Attributes:
        name: of the hook, in the log.
        statements: what it does.
        expression: the same as one expression, where it can be said in one.
    """

    name: str
    statements: list[str]
    expression: str | None


class Decorator:
    """Adds hooks to finished blocks.

    Attributes:
        handles: the names under which handles are kept in `HANDLES`.
        left: how many more hooks to write.
        counts: whether a hook does something else at every call.
    """

    def __init__(self, module: Module, hooks: int) -> None:
        self.module, self.random = module, module.random
        self.handles: list[str] = []
        self.left = hooks
        self.counts = False
        self._forms: list[Callable[[str, Var | None, Var], Written]] = [
            self._lambda, self._nested, self._module_function, self._partial, self._default,
            self._object, self._method, self._traced, self._callback,
        ]  # fmt: skip

    def __call__(self, block: Block, depth: int) -> list[Line]:
        """Return the block's lines with hooks among them."""
        if self.left <= 0:
            return block.lines
        wanted = self.random.randint(1, 2) if depth else self.left
        added: dict[int, list[Line]] = {}
        for _ in range(min(wanted, self.left)):
            at = self.random.randint(0 if depth == 0 else 1, len(block.lines))
            target = self._target(block.scopes[at])
            in_if = block.lines[at : at + 1] and block.lines[at].text == "else:"
            if target is not None and not in_if:
                added.setdefault(at, []).extend(self._registration(target, block, at, depth))
                self.left -= 1
        lines: list[Line] = []
        for at in range(len(block.lines) + 1):
            lines += added.get(at, [])
            lines += block.lines[at : at + 1]
        return lines

    def _target(self, scope: Scope) -> Var | None:
        """Choose what to hook: mostly a recent variable, sometimes a parameter."""
        if self.module.is_layer and self.module.parameters and self.random.random() < 0.12:
            name, shape = self.random.choice(list(self.module.parameters.items()))
            return Var(name, shape, is_input=True)
        fitting = [var for var in scope.values() if var.trains]
        if not fitting:
            return None
        return self.random.choices(fitting, range(1, len(fitting) + 1))[0]

    def _registration(self, target: Var, block: Block, at: int, depth: int) -> list[Line]:
        name = self.module.name("h")
        form = self.random.choice(self._forms)
        by_name = form in (self._lambda, self._nested, self._traced, self._callback)
        reach = block.scope if by_name else block.scopes[at]
        captured = None
        fitting = [var for var in reach.values() if by_name or not var.changes]
        if fitting and self.random.random() < 0.45:
            captured = self.random.choice(fitting)
        written, hook = form(name, captured, target)
        call = f"{target.name}.register_hook({hook})"
        kept = self.random.random()
        # In eager mode the handle of a tensor that was changed in place removes nothing.
        if kept < 0.12 and depth == 0 and not target.changes:
            self.handles.append(name)
            # Paddle's conversion of `HANDLES[…] = …` in a branch makes HANDLES a local variable.
            return [*written, hook_line(f"HANDLES.update({name}={call})")]
        if kept < 0.24 and not target.changes:
            return [*written, hook_line(f"{name}_handle = {call}"), *self._removed(name)]
        simpler = [f"{target.name}.register_hook(lambda g: g * g)"]
        return [*written, hook_line(call, simpler=simpler)]

    def _removed(self, name: str) -> list[Line]:
        test = self.random.choice(["", "if FLAG:", "if not FLAG:"])
        remove = hook_line(f"{name}_handle.remove()")
        return [hook_line(test, remove)] if test else [remove]

    def _expression(self, captured: str | None, like: bool) -> str:
        text = self.random.choice(PURE)
        if captured is None:
            return text
        choices = CAPTURING + (CAPTURING_LIKE * 2 if like else ())
        return self.random.choice(choices).format(g=f"({text})", c=captured)

    def _body(self, name: str, captured: Var | None, target: Var, kind: str = "") -> Body:
        kind = kind or self.random.choice(BODIES)
        self.counts = self.counts or kind == "count"
        like = captured is not None and captured.shape == target.shape
        value = self._expression(captured.name if captured else None, like)
        calls = "LEAF_LOG" if target.is_input else "LOG"
        log = f"{calls}.append(('{name}', g.tolist()))"
        if kind == "observe":
            log = f"{calls}.append(('{name}', ({value if captured else 'g'}).tolist()))"
            return Body(name, [log], log)
        if kind == "effect":
            return Body(name, [log, f"return {value}"], f"({log}, {value})[1]")
        if kind == "count":
            count = [f"COUNT['{name}'] = COUNT.get('{name}', 0) + 1"]
            return Body(name, [*count, f"return ({value}) * COUNT['{name}']"], None)
        if kind == "branch":
            note = f"{calls}.append(('{name}',))"
            last = self.random.choice(["return g - 0.125", "return None", note])
            return Body(name, ["if g.sum() > 0.25:", f"    return {value}", last], None)
        if kind == "numpy":
            value = f"paddle.to_tensor(np.tanh(({value}).numpy()))"
            return Body(name, [f"return {value}"], value)
        if kind == "state":
            value = f"({value}) * {self.random.choice(STATE)}"
        return Body(name, [f"return {value}"], value)

    def _define(self, heading: str, body: Body, *decorators: str) -> list[Line]:
        return [
            *(hook_line(decorator) for decorator in decorators),
            hook_line(heading, *_lines(body.statements)),
        ]

    def _lambda(self, name: str, captured: Var | None, target: Var) -> Written:
        body = self._body(name, captured, target)
        if body.expression is None:
            return self._define(f"def {name}(g):", body), name
        return [], f"lambda g: {body.expression}"

    def _nested(self, name: str, captured: Var | None, target: Var) -> Written:
        return self._define(f"def {name}(g):", self._body(name, captured, target)), name

    def _traced(self, name: str, captured: Var | None, target: Var) -> Written:
        body = self._body(name, captured, target, kind="pure")
        return self._define(f"def {name}(g):", body, "@static_hooks.traced"), name

    def _callback(self, name: str, captured: Var | None, target: Var) -> Written:
        body = self._body(name, captured, target)
        return self._define(f"def {name}(g):", body, "@static_hooks.callback"), name

    def _module_function(self, name: str, captured: Var | None, target: Var) -> Written:
        self.module.functions += self._define(f"def {name}(g):", self._body(name, None, target))
        return [], name

    def _partial(self, name: str, captured: Var | None, target: Var) -> Written:
        body = self._body(name, captured and replace(captured, name="c"), target)
        self.module.functions += self._define(f"def {name}(c, g):", body)
        given = captured.name if captured else self.random.choice(["0.5", "BOX"])
        return [], f"functools.partial({name}, {given})"

    def _default(self, name: str, captured: Var | None, target: Var) -> Written:
        body = self._body(name, captured and replace(captured, name="c"), target)
        given = captured.name if captured else "1"
        if body.expression is None:
            return self._define(f"def {name}(g, c={given}):", body), name
        return [], f"lambda g, c={given}: {body.expression}"

    def _object(self, name: str, captured: Var | None, target: Var) -> Written:
        body = self._body(name, captured and replace(captured, name="self.c"), target)
        call = self._define("def __call__(self, g):", body)
        init = hook_line("def __init__(self, c):", hook_line("self.c = c"))
        self.module.functions.append(hook_line(f"class {name.title()}:", init, *call))
        return [], f"{name.title()}({captured.name if captured else 'None'})"

    def _method(self, name: str, captured: Var | None, target: Var) -> Written:
        if not self.module.is_layer:
            return self._module_function(name, captured, target)
        body = self._body(name, None, target)
        body.statements = [text.replace("NUMBER", "self.number") for text in body.statements]
        self.module.methods += self._define(f"def {name}(self, g):", body)
        return [], f"self.{name}"


Written = tuple[list[Line], str]


def _lines(statements: list[str]) -> list[Line]:
    """Turn statements with indentation of at most one level into lines."""
    lines: list[Line] = []
    for statement in statements:
        if statement.startswith("    "):
            head = lines.pop()
            lines.append(hook_line(head.text, *head.body, hook_line(statement.strip())))
        else:
            lines.append(hook_line(statement))
    return lines
