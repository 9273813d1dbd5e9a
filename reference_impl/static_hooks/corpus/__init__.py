"""The conformance corpus: for every rule of a static hook, functions and what is right for each.

One rule a module, named after the rule. Functions carry no decorator, since AST conversion runs a
function's decorators again. Inputs and right answers are literals, worked out by hand and confirmed
by eager mode, which is run again each time. Where eager mode crashes or contradicts its own
documentation, `safer` says what is right instead, and why.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import paddle

RULES: dict[str, tuple[str, ...]] = {
    "Firing": (
        "accumulated-gradient",
        "late-registration",
        "registration-order",
        "duplicate-hook",
        "none-observes",
        "tensor-replaces",
        "upstream-only",
        "no-gradient-no-call",
        "stop-gradient-refused",
        "every-backward",
        "call-order",
    ),
    "Where the tensor comes from": (
        "intermediate",
        "multi-output",
        "container",
        "inner-function",
        "layer-hook",
        "input-tensor",
        "parameter-outside",
        "parameter-inside",
        "output-tensor",
        "branch",
        "loop",
    ),
    "What the body may do": (
        "traced-body",
        "effectful-body",
        "forward-capture",
        "state-at-backward",
        "exception-keeps-type",
        "bad-return",
        "gradient-type",
        "in-place-body",
    ),
    "Handles": (
        "remove-while-tracing",
        "remove-before-backward",
        "remove-between-steps",
        "remove-twice",
        "self-removal",
        "handle-type",
    ),
    "Composition": (
        "grad-in-forward",
        "double-grad",
        "recompute",
        "amp",
        "data-parallel",
        "gradient-accumulation",
        "optimizer-and-clip",
        "pylayer",
        "dynamic-shape",
        "several-signatures",
        "eval-mode",
        "saved-program",
        "static-program",
        "inplace-op",
        "sparse-gradient",
        "prim-enabled",
        "retain-grads",
        "no-leak",
        "threads",
    ),
    "Modes": ("ast", "sot", "unhooked-untouched", "disable-restores"),
}


NO_PROGRAM = {"program": "it needs parameters, state or calls that a plain static program has not"}


@dataclass(frozen=True)
class Safer:
    """What a static graph must do where eager mode is wrong.

    Attributes:
        why: One sentence: what eager mode does, and why this is right instead.
        error: How "type: first line" of the exception must begin, or None for no exception.
        gradients, log, result: As in `Case` and `Scenario`; None to leave them open.
        modes: Where this applies; the other modes are held to what eager mode does.
    """

    why: str
    error: str | None = None
    gradients: dict[str, Any] | None = None
    log: list[Any] | None = None
    result: Any = None
    modes: tuple[str, ...] = ("ast", "sot", "program")


@dataclass(frozen=True)
class Case:
    """A function, and what running it forward and backward must do in every mode.

    Attributes:
        function: As for `compare`: a function of tensors, or a class or factory of a Layer.
        inputs: As for `compare`.
        gradients: The right gradients by name; None for a model whose numbers nobody can check by
            hand: there eager mode alone decides.
        calls: The right hook calls, where the rule is about them.
        log: What the function and its hooks must append to the parameter `log`.
        error: How "type: first line" of the exception must begin, where there has to be one.
        rounds: How often forward and backward run; gradients accumulate.
        control: The same function without the hook, where Paddle itself is wrong without any.
        safer: What a static graph must do where eager mode is wrong.
        crashes: Whether eager mode kills the process; each mode then runs in a child process.
        not_applicable: By mode, why the case says nothing about it.
    """

    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    gradients: dict[str, Any] | None = None
    calls: list[tuple[str, list[float]]] | None = None
    log: list[Any] | None = None
    error: str | None = None
    rounds: int = 1
    control: Callable[..., Any] | None = None
    safer: Safer | None = None
    crashes: bool = False
    not_applicable: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The function's name, which is unique within the rule."""
        return self.function.__name__


@dataclass(frozen=True)
class Scenario:
    """A program that drives Paddle itself (training loops, processes, threads, files).

    Attributes:
        function: Takes a mode and returns what can be compared: numbers, strings, lists, dicts.
        result: What it must return; None where nobody can check the numbers by hand: there eager
            mode alone decides.
        control, safer, crashes, not_applicable: As in `Case`.
    """

    function: Callable[[str], Any]
    result: Any = None
    control: Callable[[str], Any] | None = None
    safer: Safer | None = None
    crashes: bool = False
    not_applicable: dict[str, str] = field(default_factory=NO_PROGRAM.copy)

    @property
    def name(self) -> str:
        """The function's name, which is unique within the rule."""
        return self.function.__name__


def converted(function: Any, mode: str, **options: Any) -> Any:
    """Return a function or Layer as a mode runs it; `options` are those of `to_static`."""
    if mode == "eager":
        return function
    return paddle.jit.to_static(function, full_graph=mode == "ast", **options)


def load(rule: str) -> list[Case | Scenario]:
    """Return the entries of one rule.

    Raises:
        ValueError: There is no such rule.
    """
    known = [name for group in RULES.values() for name in group]
    if rule not in known:
        raise ValueError(f"corpus: rule must be one of {', '.join(known)}; but got {rule!r}")
    module = importlib.import_module(f"{__name__}.{rule.replace('-', '_')}")
    entries: list[Case | Scenario] = module.ENTRIES
    return entries
