"""Run all designs over the whole corpus and record it: `python -m tools.survey.scoreboard`."""

from __future__ import annotations

import datetime
import json
import sys
from dataclasses import asdict

from static_hooks.designs import DESIGNS, cases, scoreboard

from .environments import ROOT, Environment, machine

RECORD = ROOT / "docs" / "recorded" / "scoreboard.json"


def main() -> int:
    """Run the designs and write the record."""
    chosen, marks = cases(), []
    for mark in scoreboard(chosen):
        marks.append(asdict(mark))
        if len(marks) % len(DESIGNS) == 0:
            sys.stderr.write(f"scoreboard: {len(marks) // len(DESIGNS)} of {len(chosen)} cases\n")
    document = {
        "command": "make survey",
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": machine(),
        "versions": Environment("survey", (), "static_hooks").versions(["paddlepaddle"]),
        "marks": marks,
    }
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
