"""Run every probe on every framework and record the answers: `python -m tools.survey`."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path
from typing import Any

from .environments import ROOT, NotRunError, machine
from .probes import PEERS, PROBES, Peer, verdict

RECORD = ROOT / "docs" / "recorded" / "survey.json"
PROGRAMS = Path(__file__).parent / "programs"


def main() -> int:
    """Run the probes and write the record; only the peers that are named, if any are."""
    parser = argparse.ArgumentParser(prog="python -m tools.survey", description=__doc__)
    names = [peer.name for peer in PEERS]
    parser.add_argument("peers", nargs="*", metavar="PEER", help=f"some of {', '.join(names)}")
    chosen = parser.parse_args().peers or names
    unknown = sorted(set(chosen) - set(names))
    if unknown:
        parser.error(f"peers must be among {', '.join(names)}, but got {', '.join(unknown)}")
    answers = _recorded()
    for peer in PEERS:
        if peer.name in chosen:
            answers[peer.name] = asked(peer)
            _write({name: answers[name] for name in names if name in answers})
    return 0


def asked(peer: Peer) -> dict[str, Any]:
    """Ask one framework everything, in each of its modes.

    Returns:
        What is recorded of it: when, its versions, and by mode the answers with verdicts; or why
        it was not run.
    """
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    try:
        _say(f"{peer.name}: making its environment")
        peer.environment.make()
    except NotRunError as reason:
        return {
            "date": today,
            "requirements": peer.environment.requirements,
            "not run": str(reason),
        }
    modes = {}
    for mode, name in peer.modes.items():
        modes[mode] = {"name": name, "answers": {}}
        for probe in PROBES:
            _say(f"{peer.name} {mode}: {probe}")
            answer = peer.environment.ask(PROGRAMS / peer.program, mode, probe)
            judged = {"verdict": verdict(PROBES[probe], answer), **answer}
            modes[mode]["answers"][probe] = judged
    return {
        "date": today,
        "machine": machine(),
        "versions": peer.environment.versions(peer.distributions),
        "modes": modes,
    }


def _recorded() -> dict[str, Any]:
    """Return the peers of the record that there is."""
    if not RECORD.exists():
        return {}
    peers: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))["peers"]
    return peers


def _write(peers: dict[str, Any]) -> None:
    probes = {name: {"asks": probe.asks, "right": probe.right} for name, probe in PROBES.items()}
    document = {"command": "make survey", "probes": probes, "peers": peers}
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _say(text: str) -> None:
    sys.stderr.write(f"survey: {text}\n")


if __name__ == "__main__":
    sys.exit(main())
