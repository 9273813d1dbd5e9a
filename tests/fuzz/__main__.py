"""The command: judge many random programs, and print what fails as ready-to-file cases."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paddle
from static_hooks.mutants import MUTANTS

from .children import Child
from .generator import generate
from .judge import FAILURES, Verdict
from .lines import source_of
from .shrinker import shrink

_BATCH = 50
_CASE = """\
# {verdict} in mode {mode}: {detail}
# Found by: python -m tests.fuzz --mode {mode} --seed {seed} --first {index} --programs 1
{source}

if __name__ == "__main__":
    import paddle, static_hooks

    static_hooks.enable()
    print("eager ", session(lambda f: f), LOG)
    LOG.clear(), LEAF_LOG.clear()
    print("static", session(lambda f: paddle.jit.to_static(f, full_graph={full})), LOG)
"""


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    mode: str
    mutant: str
    programs: int
    seed: int
    first: int
    jobs: int
    shrinks: int
    record: Path | None


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return found or "unknown"


@dataclass
class Tally:
    """What came of the programs so far.

    Attributes:
        totals: how many programs got each verdict.
        failed: the numbers of those that failed.
        extra: how many compiled to more graphs than without hooks.
        commit: what was checked out when the run started, marked if it was changed.
        started: when that was.
    """

    totals: Counter[str] = field(default_factory=Counter)
    failed: list[int] = field(default_factory=list)
    extra: int = 0
    commit: str = field(default_factory=_commit)
    started: float = field(default_factory=time.monotonic)

    def add(self, index: int, verdict: Verdict) -> None:
        """Count a program."""
        self.totals[verdict.kind] += 1
        self.extra += verdict.kind == "same" and verdict.graphs[1] > verdict.graphs[0]
        if verdict.kind in FAILURES:
            self.failed.append(index)


def main(arguments: list[str]) -> int:
    """Run the command; return 1 if a program failed."""
    options = _parse(arguments)
    tally = Tally()
    for index, verdict in _judged(options):
        tally.add(index, verdict)
        if verdict.kind in FAILURES:
            print(f"\n{verdict.kind} in program {index}: {verdict.detail[:200]}")
        judged = sum(tally.totals.values())
        if judged % _BATCH == 0 or judged == options.programs:
            _progress(tally, options)
            _record(tally, options)
    print()
    for index in tally.failed[: options.shrinks]:
        print(case(options, index))
    print(json.dumps(_result(tally, options), indent=2))
    return 1 if tally.failed else 0


def case(options: Options, index: int) -> str:
    """Shrink a failing program and print it as a case."""
    with Child(options.mode, options.mutant) as child:
        program = generate(f"{options.seed}:{index}")
        verdict = child.judge(program)
        small = shrink(program, lambda candidate: child.judge(candidate).sign == verdict.sign)
        verdict = child.judge(small)
    return _CASE.format(
        verdict=verdict.kind, mode=options.mode, detail=verdict.detail, seed=options.seed,
        index=index, source=source_of(small), full=options.mode == "ast",
    )  # fmt: skip


def _judged(options: Options) -> Iterator[tuple[int, Verdict]]:
    """Judge all programs, in as many processes as there are jobs; yield them as they are done."""
    indices = range(options.first, options.first + options.programs)
    batches = [indices[start : start + _BATCH] for start in range(0, len(indices), _BATCH)]
    with ThreadPoolExecutor(options.jobs) as pool:
        judged = pool.map(lambda batch: _batch(options, batch), batches)
        for batch, verdicts in zip(batches, judged, strict=True):
            yield from zip(batch, verdicts, strict=True)


def _batch(options: Options, batch: Iterable[int]) -> list[Verdict]:
    with Child(options.mode, options.mutant) as child:
        return [child.judge(f"{options.seed}:{index}") for index in batch]


def _progress(tally: Tally, options: Options) -> None:
    done = sum(tally.totals.values())
    rate = done / (time.monotonic() - tally.started)
    counts = ", ".join(f"{number} {kind}" for kind, number in sorted(tally.totals.items()))
    print(f"\r{done}/{options.programs}, {rate:.1f} a second: {counts} ", end="", flush=True)


def _record(tally: Tally, options: Options) -> None:
    """Write the totals so far: a run that is cut short leaves those of what it judged."""
    if options.record:
        options.record.write_text(json.dumps(_result(tally, options), indent=2) + "\n")


def _result(tally: Tally, options: Options) -> dict[str, Any]:
    command = f"python -m tests.fuzz --mode {options.mode} --programs {options.programs}"
    command += f" --seed {options.seed} --first {options.first}"
    return {
        "command": command + (f" --mutant {options.mutant}" if options.mutant else ""),
        "commit": tally.commit,
        "date": time.strftime("%Y-%m-%d"),
        "paddle": paddle.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {options.jobs} process(es)",
        "seconds": round(time.monotonic() - tally.started),
        "programs": sum(tally.totals.values()),
        "verdicts": dict(sorted(tally.totals.items())),
        "more graphs than unhooked": tally.extra,
        "failed": tally.failed,
    }


def _parse(arguments: list[str]) -> Options:
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=__doc__)
    parser.add_argument("--mode", choices=("ast", "sot"), default="ast")
    mutant_help = "judge a deliberately wrong design, to see that it is found"
    mutants = sorted(MUTANTS)
    parser.add_argument("--mutant", choices=mutants, default="", metavar="NAME", help=mutant_help)
    parser.add_argument("--programs", type=int, default=1000, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of all programs together")
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--shrinks", type=int, default=5, help="how many failures to shrink")
    parser.add_argument("--record", type=Path, help="file to write the totals to")
    return Options(**vars(parser.parse_args(arguments)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
