"""What is asked, of whom, and what is right: what Paddle's eager mode does.

Of exceptions, right is what it should do: there eager mode turns every type into OSError.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .environments import Environment

ROUNDED = 3  # decimal places of a number that count
_EXCEPTION = re.compile(r"\w+(Error|Exception): ")


@dataclass(frozen=True)
class Probe:
    """One question.

    Attributes:
        asks: the question, in a few words.
        right: what must come out, by name; empty where a number is only measured.
    """

    asks: str
    right: dict[str, Any]


PROBES = {
    "accumulated-gradient": Probe("sum of the gradients of both uses", {"gradient": 98.0}),
    "late-registration": Probe(
        "registered after a use", {"between two uses": 98.0, "after all uses": 98.0}
    ),
    "registration-order": Probe("two hooks run in the order registered", {"gradient": 32.0}),
    "none-observes": Probe("None leaves the gradient", {"gradient": 14.0}),
    "effectful-body": Probe(
        "a counter and a list, in three steps",
        {"calls": 3, "gradients seen": [7.0, 7.0, 7.0]},
    ),
    "state-at-backward": Probe(
        "Python state that changes",
        {"between steps": 980.0, "between forward and backward": 9800.0},
    ),
    "forward-capture": Probe("a value that is computed later", {"gradient": 392.0}),
    "remove-while-tracing": Probe("removed inside the function", {"gradient": 14.0}),
    "exception-keeps-type": Probe(
        "an exception in the hook", {"exception": "ValueError", "next step": 98.0}
    ),
    "graphs": Probe("compiled graphs", {"with a hook": 1, "without": 1}),
    "step-time": Probe("step time, with 12 hooks / without", {}),
}


@dataclass(frozen=True)
class Peer:
    """A framework.

    Attributes:
        name: its name.
        program: the file in `programs` that asks it.
        distributions: the packages whose versions are recorded.
        modes: its modes, by the names that the program knows, with the names that users know.
        environment: where it runs.
    """

    name: str
    program: str
    distributions: tuple[str, ...]
    modes: dict[str, str]
    environment: Environment


PEERS = [
    Peer(
        "PyTorch", "in_pytorch.py", ("torch",),
        {
            "eager": "eager",
            "fullgraph": "torch.compile(fullgraph=True)",
            "compile": "torch.compile()",
        },
        Environment("survey/pytorch", ("torch==2.13.0", "numpy==2.4.6"), "torch"),
    ),
    Peer(
        "JAX", "in_jax.py", ("jax", "jaxlib"), {"jit": "custom_vjp in jit"},
        Environment("survey/jax", ("jax==0.10.2", "jaxlib==0.10.2"), "jax"),
    ),
    Peer(
        "TensorFlow", "in_tensorflow.py", ("tensorflow-cpu",),
        {"function": "custom_gradient in tf.function"},
        Environment("survey/tensorflow", ("tensorflow-cpu==2.21.0",), "tensorflow"),
    ),
    Peer(
        "MindSpore", "in_mindspore.py", ("mindspore",),
        {
            "pynative": "PyNative",
            "graph": "jit",
            "bytecode": 'jit(capture_mode="bytecode")',
        },
        Environment("survey/mindspore", ("mindspore==2.10.0", "numpy<2"), "mindspore"),
    ),
    Peer(
        "OneFlow", "in_oneflow.py", ("oneflow",), {"eager": "eager", "graph": "nn.Graph"},
        Environment(
            "survey/oneflow",
            # Its wheel is built for a GPU: it runs without one, but not without the libraries.
            ("oneflow==0.9.0", "numpy<2", "nvidia-cublas-cu11", "nvidia-cudnn-cu11<9"),
            "oneflow", ("python3.10", "python3.9"), ("nvidia/cudnn/lib", "nvidia/cublas/lib"),
        ),
    ),
]  # fmt: skip


def verdict(probe: Probe, answer: dict[str, Any]) -> str:
    """Judge what a program answered.

    Returns:
        "same", as is right; "differs", without an error; "raised"; "no form", where the framework
        can't express it; "died"; "measured", where nothing is right or wrong.
    """
    for outcome in ("no form", "raised", "died"):
        if outcome in answer:
            return outcome
    if not probe.right:
        return "measured"
    got = {k: v for k, v in answer["got"].items() if not str(v).startswith("no form")}
    right = {name: value for name, value in probe.right.items() if name in got}
    got = {name: value for name, value in got.items() if name in right}
    wrong = [v for name, v in got.items() if _rounded(v) != _rounded(right[name])]
    if wrong and all(_EXCEPTION.match(str(value)) for value in wrong):
        return "raised"
    return "differs" if wrong or not right else "same"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, ROUNDED) if isinstance(value, float) else value
