"""Run every case on several versions of Paddle and record the answers: `python -m tools.matrix`."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
from pathlib import Path
from typing import Any

from tools.survey.environments import ROOT, Environment, NotRunError, machine
from tools.survey.probes import Probe, verdict

RECORD = ROOT / "docs" / "recorded" / "matrix.json"
PROGRAM = Path(__file__).with_name("cases.py")
# What the cases import beside Paddle: the harness of the survey, and this project's package.
PYTHONPATH = os.pathsep.join(str(ROOT / p) for p in ("tools/survey/programs", "reference_impl"))

VERSIONS = {
    # Paddle 2.6 is built for NumPy 1, and all of these need setuptools to import their extensions.
    "2.6.2": ("paddlepaddle==2.6.2", "numpy<2", "setuptools<81"),
    "3.0.0": ("paddlepaddle==3.0.0", "setuptools<81"),
    "3.1.1": ("paddlepaddle==3.1.1", "setuptools<81"),
    "3.2.2": ("paddlepaddle==3.2.2", "setuptools<81"),
    "3.3.1": ("paddlepaddle==3.3.1", "setuptools<81"),
}

CASES = {
    "eager-hook": Probe("eager mode, hook between two uses", {"gradient": 98.0}),
    "ast-hook": Probe("AST, hook before both uses", {"gradient": 98.0}),
    "ast-late-hook": Probe("AST, hook between two uses", {"gradient": 98.0}),
    "ast-guarded-hook": Probe("AST, hook inside `try`", {"gradient": 98.0}),
    "sot-hook": Probe("SOT, hook before both uses", {"gradient": 98.0}),
    "sot-late-hook": Probe("SOT, hook between two uses", {"gradient": 98.0}),
    "sot-hook-after-last-use": Probe("SOT, hook after the last use", {"what the hook got": [7.0]}),
    "untaken-branch": Probe("AST, no hook: output of an untaken branch", {"output": 40.0}),
    "shared-name": Probe(
        "AST, hook that shares a name with its tensor's line", {"gradient": 0.2099871708}
    ),
    "rebound-name": Probe("rewritten source, hook on a re-bound name", {"gradient": 192.0}),
    "parameter-hook": Probe("AST, hook on a parameter, in `__init__`", {"gradient": 49.0}),
    "returned-tensor": Probe("AST, hook on a returned tensor", {"gradient": 98.0}),
    "identity-pylayer": Probe("AST, an identity PyLayer for the hook", {"gradient": 98.0}),
    "saving": Probe("`jit.save` of a hooked layer", {"saved": True}),
    "static-hooks": Probe("AST with `static_hooks.enable()`", {"gradient": 98.0}),
}


def main() -> int:
    """Run the cases and write the record; only on the versions that are named, if any are."""
    parser = argparse.ArgumentParser(prog="python -m tools.matrix", description=__doc__)
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=", ".join(VERSIONS))
    chosen = parser.parse_args().versions or list(VERSIONS)
    unknown = sorted(set(chosen) - set(VERSIONS))
    if unknown:
        parser.error(f"versions must be among {', '.join(VERSIONS)}, but got {', '.join(unknown)}")
    answers = recorded()
    for version in chosen:
        answers[version] = asked(version)
        write({name: answers[name] for name in VERSIONS if name in answers})
    return 0


def asked(version: str) -> dict[str, Any]:
    """Run every case on one version.

    Returns:
        What is recorded of it: when, on what, and the answers with verdicts; or why it did not run.
    """
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    environment = Environment(f"matrix/{version}", VERSIONS[version], "paddle")
    try:
        sys.stderr.write(f"matrix: Paddle {version}: making its environment\n")
        environment.make()
    except NotRunError as reason:
        return {"date": today, "requirements": list(VERSIONS[version]), "not run": str(reason)}
    answers = {}
    for case, probe in CASES.items():
        sys.stderr.write(f"matrix: Paddle {version}: {case}\n")
        answer = environment.ask(PROGRAM, case, seconds=300, PYTHONPATH=PYTHONPATH)
        answers[case] = {"verdict": verdict(probe, answer), **answer}
    versions = environment.versions(["paddlepaddle", "numpy"])
    return {"date": today, "machine": machine(), "versions": versions, "answers": answers}


def recorded() -> dict[str, Any]:
    """Return the versions of the record that there is."""
    if not RECORD.exists():
        return {}
    versions: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))["versions"]
    return versions


def write(versions: dict[str, Any]) -> None:
    """Write the record."""
    cases = {name: {"asks": case.asks, "right": case.right} for name, case in CASES.items()}
    document = {"command": "make matrix", "cases": cases, "versions": versions}
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
