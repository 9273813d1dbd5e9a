"""Wrong designs of what is refused, and of what is left alone."""

from __future__ import annotations

from typing import Any

import paddle

from .. import bodies, boundaries, patches, registration
from .registry import NEVER, WHEN_RAISED, Replacements, mutant, when, when_result


@mutant(
    "Nothing is checked when a hook is registered.",
    "eager Paddle 3.3, which notices in backward that a hook can't be called",
)
def checks_late() -> Replacements:
    yield registration, "callable", lambda hook: True, when_result(lambda yes: not yes)
    yield bodies, "check_forced", lambda hook: None, WHEN_RAISED


@mutant("A body that is marked with @traced is traced, whatever it does.")
def believes_the_mark() -> Replacements:
    decide = bodies.decide

    def believing(hook: Any, owner: Any = None) -> bodies.Decision:
        if getattr(hook, bodies.FORCED, None) == "traced":
            return bodies.Decision(True, "it is marked")
        return decide(hook, owner)

    yield bodies, "check_forced", lambda hook: None, WHEN_RAISED
    yield bodies, "decide", believing, WHEN_RAISED


@mutant("register_hook of a static value takes an option that eager mode does not know.")
def adds_an_option() -> Replacements:
    original = registration.register_hook

    @paddle.jit.marker.unified
    def register_hook(self: Any, hook: Any, inside: bool = True) -> Any:
        return original(self, hook)

    yield registration, "register_hook", register_hook, NEVER
    # What enable() makes public is compared by who disables again.
    yield patches, "_put_back", patches._put_back, when()


@mutant("enable() replaces what it finds, whatever Paddle it is.")
def enables_blindly() -> Replacements:
    yield patches, "verify", lambda: None, WHEN_RAISED


@mutant("Every program that is trained gets an operation more, hooks or not.")
def marks_every_program() -> Replacements:
    with_extra_outputs = boundaries.with_extra_outputs

    def marking(layer: Any, runnable: Any) -> Any:
        with paddle.static.program_guard(runnable.program):
            paddle.full([1], 0.0)
        return with_extra_outputs(layer, runnable)

    yield boundaries, "with_extra_outputs", marking
