"""Wrong designs of hooks in SOT, the default mode."""

from __future__ import annotations

import weakref
from typing import Any

from paddle.jit.sot.utils.exceptions import BreakGraphError, UnsupportedOperationBreak

from .. import sot_fallback, sot_marks, sot_recording, sot_runs, sot_settling
from ..sot_surfaces import UserDefinedFunctionVariable
from .registry import Replacements, mutant


def _nothing(*arguments: Any) -> None:
    """Check nothing."""


@mutant(
    "In SOT a hook breaks the graph, and sees what comes from after the break.",
    "Paddle 3.3, where `register_hook` is among the methods that break a graph",
)
def breaks_the_graph() -> Replacements:
    def record(graph: Any, target: Any, hook: Any) -> None:
        raise BreakGraphError(UnsupportedOperationBreak(reason_str="register_hook"))

    yield sot_recording, "record", record
    yield sot_fallback, "check_break", _nothing
    yield sot_marks, "check_returned", _nothing


@mutant("In SOT all runs share the hooks of the first one.")
def shares_hooks_between_runs() -> Replacements:
    announce = sot_runs.Arming._announce

    def announce_first(self: Any, armed: Any, outputs: Any) -> None:
        first = self.__dict__.setdefault("first", armed)
        self._current = weakref.ref(first)
        announce(self, first, outputs)

    yield sot_runs.Arming, "_announce", announce_first


@mutant("In SOT a function that is a hook is traced once, with what its closure holds then.")
def keeps_the_first_closure() -> Replacements:
    def is_traced(hook: Any, flow: Any) -> bool:
        return isinstance(hook.hook, UserDefinedFunctionVariable) and not hook.is_eager

    yield sot_settling, "_is_traced", is_traced


@mutant("In SOT a function with hooks is compiled even where Paddle's graph of it is wrong.")
def compiles_what_is_wrong() -> Replacements:
    yield sot_fallback, "check_statements", _nothing
    yield sot_fallback, "check_break", _nothing


@mutant(
    "In SOT a tensor that a graph used itself can be hooked outside, for a part of its gradient."
)
def watches_a_part() -> Replacements:
    yield sot_marks, "mark_hooked", _nothing
