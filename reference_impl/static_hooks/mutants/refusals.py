"""Wrong designs of what is refused, and of what is left alone."""

from __future__ import annotations

from typing import Any

import paddle

from .. import bodies, boundaries, patches, registration
from .registry import WHEN_RAISED, Replacements, mutant, when_result


@mutant(
    "Nothing is checked when a hook is registered.",
    "eager Paddle 3.3, which notices in backward that a hook can't be called",
)
def checks_late() -> Replacements:
    yield registration, "callable", lambda hook: True, when_result(lambda yes: not yes)
    yield bodies, "check_forced", lambda hook: None, WHEN_RAISED


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
