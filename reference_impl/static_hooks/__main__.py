"""The command line: `python -m static_hooks conformance|explain|doctor`."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: The words after `python -m static_hooks`; those of this process where None.

    Returns:
        The exit status: 0 if all is well, 1 if not, 2 for a command that makes no sense.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        status: int = options.command(options)
    except ValueError as error:
        parser.error(str(error))
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m static_hooks", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="conformance|explain|doctor")
    _add_conformance(commands)
    explain = commands.add_parser("explain", help="say how each hook of a function or Layer runs")
    explain.set_defaults(command=_explain)
    explain.add_argument("target", help="module:name of a function, a Layer, or a Layer's class")
    explain.add_argument(
        "inputs", nargs="+", metavar="SHAPE", help="shape of each input of ones, as 8,64"
    )
    doctor = commands.add_parser("doctor", help="check that this Paddle can be enabled")
    doctor.set_defaults(command=_doctor)
    return parser


def _add_conformance(commands: Any) -> None:
    conformance = commands.add_parser("conformance", help="run the corpus against eager mode")
    conformance.set_defaults(command=_conformance)
    conformance.add_argument(
        "--mode", action="append", default=[], help="eager, ast, sot or program (repeatable)"
    )
    conformance.add_argument(
        "--rule", action="append", default=[], help="a rule's name (repeatable)"
    )
    conformance.add_argument(
        "--entry", action="append", default=[], help="an entry's name (repeatable)"
    )
    conformance.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes there")
    conformance.add_argument("--isolated", action="store_true", help=argparse.SUPPRESS)


def _conformance(options: argparse.Namespace) -> int:
    import paddle

    from .conformance import FAILURES, Outcome, as_json, entries, judge, matrix, summary

    if options.isolated:  # a crash ends the process at once, without Paddle's own report of it
        paddle.disable_signal_handler()
    chosen = entries(options.rule, options.mode, options.entry)
    outcomes: list[Outcome] = []
    for rule, entry, mode in chosen:
        _progress(len(outcomes), len(chosen), f"{rule} {entry.name} {mode}")
        outcomes.append(judge(rule, entry, mode, isolated=options.isolated))
    _progress(len(chosen), len(chosen), "")
    print(matrix(outcomes))
    failed = [outcome for outcome in outcomes if outcome.verdict in FAILURES]
    for outcome in failed:
        print(
            f"{outcome.verdict}: {outcome.rule} {outcome.name} ({outcome.mode}): {outcome.detail}"
        )
    print(summary(outcomes))
    if options.json:
        options.json.write_text(as_json(outcomes))
    return 1 if failed else 0


def _progress(done: int, total: int, doing: str) -> None:
    """Draw the progress bar, where somebody can see it; the last call takes it away."""
    if not sys.stderr.isatty():
        return
    filled = 30 * done // total
    bar = f"[{'#' * filled}{'.' * (30 - filled)}] {done}/{total} {doing}"
    sys.stderr.write(f"\r\x1b[K{bar[:100] if done < total else ''}")
    sys.stderr.flush()


def _explain(options: argparse.Namespace) -> int:
    import paddle

    from .explain import explain

    module, _, name = options.target.partition(":")
    try:
        target = getattr(importlib.import_module(module), name)
        shapes = [[int(size) for size in shape.split(",")] for shape in options.inputs]
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"explain: target must be module:name and each shape numbers, but {error}"
        ) from error
    if isinstance(target, type):
        target = target()
    inputs = [paddle.ones(shape) for shape in shapes]
    for tensor in inputs:
        tensor.stop_gradient = False
    print(explain(target, *inputs))
    return 0


def _doctor(_: argparse.Namespace) -> int:
    import paddle

    from .errors import UnknownPaddleError
    from .patches import PATCHES, verify

    try:
        verify()
    except UnknownPaddleError as error:
        print(error)
        return 1
    print(f"Paddle {paddle.__version__}: all {len(PATCHES)} surfaces are as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
