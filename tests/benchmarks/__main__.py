"""The command: measure every row in a process of its own, print them, and record them."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import paddle

from .rows import ROWS

_TORCH = Path(__file__).with_name("torch_peer.py")
_LINE = "{name:<24} {value:>7.3f}   {low:>7.3f} … {high:<7.3f} {verdict}"


def main(arguments: list[str]) -> int:
    """Run the command; return 1 if a budget is exceeded."""
    parser = argparse.ArgumentParser("python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--row", choices=ROWS, help="measure one row, in this process")
    parser.add_argument("--torch", type=Path, help="a Python with PyTorch, for the peer's rows")
    parser.add_argument("--record", type=Path, help="file to write the rows to")
    options = parser.parse_args(arguments)
    if options.row:
        print(json.dumps(vars(ROWS[options.row]())))
        return 0
    print(f"{'ratio':<24} {'median':>7}   quartiles")
    rows = []
    for name in ROWS:
        rows += _measured([sys.executable, "-m", "tests.benchmarks", "--row", name])
    if options.torch:
        rows += _measured([str(options.torch), str(_TORCH)])
    skipped = "" if options.torch else "torch.compile: no Python with PyTorch was named (--torch)"
    print(skipped)
    if options.record:
        text = json.dumps(_record(rows, skipped), indent=2, ensure_ascii=False)
        options.record.write_text(text + "\n")
    return 1 if any(_exceeds(row) for row in rows) else 0


def _measured(command: list[str]) -> list[dict[str, Any]]:
    """Run a command that prints rows as its last lines, and print them readably."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    for row in rows:
        verdict = "" if row["budget"] is None else f"must be ≤ {row['budget']}"
        verdict += ": EXCEEDED" if _exceeds(row) else ""
        print(_LINE.format(**row, verdict=verdict), flush=True)
    return rows


def _exceeds(row: dict[str, Any]) -> bool:
    return row["budget"] is not None and row["value"] > row["budget"]


def _record(rows: list[dict[str, Any]], skipped: str) -> dict[str, Any]:
    return {
        "command": "python -m tests.benchmarks",
        "date": time.strftime("%Y-%m-%d"),
        "paddle": paddle.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, CPU only",
        "load": round(os.getloadavg()[1], 1),
        "skipped": skipped,
        "rows": rows,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
