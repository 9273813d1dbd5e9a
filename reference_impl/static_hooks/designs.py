"""The designs that were tried or proposed for hooks in static graphs, as working code.

A design answers two questions: where does a hook sit, and how does its body run. Each design here
is this package with other answers, so that two designs differ in what they say and in nothing else.
The identity operations of three of them are real operations of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, cast
from unittest import mock

import paddle
from paddle.base.libpaddle import pir
from paddle.jit.dy2static.transformers import tensorhook_transformer

from . import bodies, conformance, firing, patches, registration
from .compare import Report
from .corpus import Case
from .errors import UnsupportedHookError
from .records import Run
from .runs import Runner, argument
from .surfaces import Operation, PartialProgramLayer, Value, ValueDict, ir_backward

# (owner, attribute, what stands there while the design is in force)
Replacement = tuple[Any, str, Any]


@dataclass(frozen=True)
class Design:
    """One design.

    Attributes:
        name: its name in commands, tables and pictures.
        place: where a hook sits, in one phrase.
        body: how a body runs, in one phrase.
        known_from: where it was built or proposed, in public.
        replacements: what makes this package work like it.
    """

    name: str
    place: str
    body: str
    known_from: str
    replacements: Callable[[], Iterator[Replacement]]

    @contextmanager
    def enabled(self) -> Iterator[None]:
        """Put the design in force, and hooks in static graphs on, for a `with` block.

        Raises:
            RuntimeError: the package is enabled already, with its own design.
        """
        if patches.replaced:
            raise RuntimeError(
                f"design {self.name}: static_hooks must be disabled first, but it is enabled; "
                "call static_hooks.disable()"
            )
        with ExitStack() as stack:
            for owner, attribute, new in self.replacements():
                stack.enter_context(mock.patch.object(owner, attribute, new))
            with patches.enabled():
                yield


def _called_back() -> Iterator[Replacement]:
    """Run every body in Python, at every backward."""
    decision = bodies.Decision(False, "every body is called back")
    yield bodies, "decide", lambda hook, owner=None: decision


def _traced() -> Iterator[Replacement]:
    """Run every body once, while the backward is built; refuse one that is more than operations."""
    yield firing.Walk, "_call_back", _refuse


def _refuse(self: Any, entry: registration.Registration, *_: Any) -> Value:
    raise UnsupportedHookError(
        f"hook registered at {entry.site}: its body must be tensor operations alone, "
        "but got one with effects or state; this design can't call it back"
    )


def _on_identities(insert: Callable[[Any, Value], Value]) -> Iterator[Replacement]:
    """Put each hook on an identity operation of its tensor, as `insert` places it."""
    record, verify = registration.record, cast("Any", PartialProgramLayer._verify_program)
    build = ir_backward.calc_gradient_helper

    def record_on_identity(program: Any, target: Any, hook: Any) -> Any:
        if not isinstance(target, Value):
            return record(program, target, hook)
        return record(program, insert(program, target), hook)

    def redirect_and_verify(self: Any, program: Any, outputs: Any) -> Any:
        outputs.var_list[:] = _redirect(program, outputs.var_list)
        return verify(self, program, outputs)

    def redirect_and_build(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        outputs = _redirect(paddle.static.default_main_program(), outputs)
        return build(outputs, *args, **kwargs)

    yield registration, "record", record_on_identity
    yield PartialProgramLayer, "_verify_program", redirect_and_verify
    yield ir_backward, "calc_gradient_helper", redirect_and_build


@dataclass(frozen=True)
class _Identity:
    """An identity operation: what it takes, what it gives, and who may take that.

    Attributes:
        target: the hooked value.
        result: what stands for it.
        everywhere: whether all users of the value take it, or those that come after it.
    """

    target: Value
    result: Value
    everywhere: bool

    def users(self) -> Iterator[Operation]:
        """List the operations that may take the result."""
        own = self.result.get_defining_op()
        operations = own.get_parent_block().ops
        start = 0 if self.everywhere else operations.index(own)
        return (op for op in _nested(operations[start:]) if op != own)


def _identities(program: Any) -> list[_Identity]:
    found: list[_Identity] = program.__dict__.setdefault("_static_hooks_identities", [])
    return found


def _at_registration(program: Any, target: Value) -> Value:
    result = paddle.assign(target)
    _identities(program).append(_Identity(target, result, everywhere=False))
    return result


def _after_definition(program: Any, target: Value) -> Value:
    for known in _identities(program):
        if known.target.is_same(target):
            return known.result
    here = pir.get_current_insertion_point()
    pir.set_insertion_point_after(target.get_defining_op())
    result = paddle.assign(target)
    pir.set_insertion_point(here)
    _identities(program).append(_Identity(target, result, everywhere=True))
    return result


def _redirect(program: Any, outputs: Sequence[Any]) -> list[Any]:
    """Let users take the results of identity operations; in Python a name still means the operand.

    Returns:
        The outputs, with results of identity operations for their operands.
    """
    latest = ValueDict()
    for identity in _identities(program):
        latest[identity.target] = identity.result
    for identity in reversed(_identities(program)):  # the latest takes its users first
        for op in identity.users():
            for operand in op.operands():
                if operand.source().is_same(identity.target):
                    operand.set_source(identity.result)
    return [latest.get(v, v) if isinstance(v, Value) else v for v in outputs]


def _nested(operations: Sequence[Operation]) -> Iterator[Operation]:
    for op in operations:
        yield op
        for block in op.blocks():
            yield from _nested(block.ops)


def _callback_at_registration() -> Iterator[Replacement]:
    yield from _on_identities(_at_registration)
    yield from _called_back()


def _reordered_callback() -> Iterator[Replacement]:
    yield patches, "NoReordering", tensorhook_transformer.RegisterHookTransformer
    yield from _callback_at_registration()


def _identity_at_registration() -> Iterator[Replacement]:
    yield from _on_identities(_at_registration)
    yield from _traced()


def _identity_after_definition() -> Iterator[Replacement]:
    yield from _on_identities(_after_definition)
    yield from _traced()


DESIGNS = {
    design.name: design
    for design in [
        Design(
            "callback", "an identity operation at the registration", "called back",
            "PaddlePaddle/community#491, PaddlePaddle/Paddle#48234", _callback_at_registration,
        ),
        Design(
            "reordering", "as before, moved up in the source", "called back",
            "PaddlePaddle/Paddle#52948, PaddlePaddle/Paddle#53572", _reordered_callback,
        ),
        Design(
            "identity", "an identity operation at the registration", "traced",
            "jax.custom_vjp, tf.custom_gradient", _identity_at_registration,
        ),
        Design(
            "replaced-uses", "an identity operation after the definition, for all uses", "traced",
            "pytorch/pytorch#172126", _identity_after_definition,
        ),
        Design(
            "accumulated", "the accumulated gradient in the backward builder",
            "traced or called back, for each hook", "this proposal; pytorch/pytorch#181803",
            lambda: iter(()),
        ),
    ]
}  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """What one design did with one case of the corpus, in AST mode.

    Attributes:
        rule, case, design: the names.
        verdict: "right", as eager mode; "wrong", something else; "refused", with an exception.
        detail: the first difference from eager mode.
    """

    rule: str
    case: str
    design: str
    verdict: str
    detail: str = ""


class _Unwatched(Runner):
    """Runs a function once: a second hook that watches would be moved with the first."""

    def __call__(self) -> Run:
        return Run(self.mode, **self._once())


def cases() -> list[tuple[str, Case]]:
    """List the corpus cases, with their rules, that eager mode does right and any design could."""
    return [
        (rule, entry)
        for rule, entry, mode in conformance.entries(modes=["ast"])
        if isinstance(entry, Case)
        and not (entry.safer or entry.crashes or entry.control or mode in entry.not_applicable)
    ]


def run(function: Callable[..., Any], *inputs: Any, design: Design | None, rounds: int = 1) -> Run:
    """Run a function in AST mode with a design, or in eager mode with none.

    Args:
        function: as for `compare`.
        inputs: as for `compare`.
        design: the design.
        rounds: how often forward and backward run.
    """
    arguments = [argument(value) for value in inputs]
    mode = "ast" if design else "eager"
    with design.enabled() if design else nullcontext():
        return _Unwatched(function, arguments, mode, rounds, 0)()


def scoreboard(chosen: Sequence[tuple[str, Case]]) -> Iterator[Mark]:
    """Run every design over some cases of the corpus."""
    for rule, case in chosen:
        eager = run(case.function, *case.inputs, design=None, rounds=case.rounds)
        for design in DESIGNS.values():
            static = run(case.function, *case.inputs, design=design, rounds=case.rounds)
            report = Report({"eager": eager, "ast": static})
            failure = "refused" if static.error and not eager.error else "wrong"
            yield Mark(
                rule, case.name, design.name, "right" if report.same else failure,
                next(iter(report.differences), ""),
            )  # fmt: skip
