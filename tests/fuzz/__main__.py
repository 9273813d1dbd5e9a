"""The command: judge many random programs, and print what fails as ready-to-file cases."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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


def main(arguments: list[str]) -> int:
    """Run the command; return 1 if a program failed."""
    options = _parse(arguments)
    totals: Counter[str] = Counter()
    started = time.monotonic()
    failed: list[int] = []
    extra, printed = 0, started
    for index, verdict in _judged(options):
        totals[verdict.kind] += 1
        extra += verdict.kind == "same" and verdict.graphs[1] > verdict.graphs[0]
        if verdict.kind in FAILURES:
            failed.append(index)
            print(f"\n{verdict.kind} in program {index}: {verdict.detail[:200]}")
        if time.monotonic() - printed > 1 or sum(totals.values()) == options.programs:
            printed = time.monotonic()
            _progress(totals, options.programs, started)
    print()
    for index in failed[: options.shrinks]:
        print(case(options, index))
    seconds = round(time.monotonic() - started)
    result = _result(options, totals, extra, seconds, failed)
    print(json.dumps(result, indent=2))
    if options.record:
        options.record.write_text(json.dumps(result, indent=2) + "\n")
    return 1 if failed else 0


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


def _progress(totals: Counter[str], programs: int, started: float) -> None:
    done = sum(totals.values())
    rate = done / (time.monotonic() - started)
    counts = ", ".join(f"{number} {kind}" for kind, number in sorted(totals.items()))
    print(f"\r{done}/{programs} programs, {rate:.1f} a second: {counts} ", end="", flush=True)


def _result(
    options: Options, totals: Counter[str], extra: int, seconds: int, failed: list[int]
) -> dict[str, Any]:
    command = f"python -m tests.fuzz --mode {options.mode} --programs {options.programs}"
    command += f" --seed {options.seed} --first {options.first}"
    return {
        "command": command + (f" --mutant {options.mutant}" if options.mutant else ""),
        "date": time.strftime("%Y-%m-%d"),
        "paddle": paddle.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {options.jobs} process(es)",
        "seconds": seconds,
        "programs": options.programs,
        "verdicts": dict(sorted(totals.items())),
        "more graphs than unhooked": extra,
        "failed": failed,
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
