"""What the README says is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPET = re.search(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_snippet_prints_what_it_says(tmp_path: Path) -> None:
    """The first snippet, in a process of its own, prints the values in its comments."""
    assert SNIPPET is not None
    script = tmp_path / "snippet.py"
    script.write_text(SNIPPET[1], encoding="utf-8")
    result = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (0, "98.0\n") == (result.returncode, result.stdout), result.stderr
    assert "98.0" == SNIPPET[1].rstrip().rpartition("# ")[2]


def test_length() -> None:
    """The README is short, and its snippet is seen without scrolling."""
    assert SNIPPET is not None
    assert README.count("\n") <= 100
    assert README[: SNIPPET.end()].count("\n") <= 25


def test_folder_map() -> None:
    """The map names every file and folder at the top, and only what exists."""
    table = README.partition("## Where things are")[2].partition("\n## ")[0]
    named = [
        path
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for path in row.split(", ")
    ]
    paths = [path.strip("`") for path in named]
    assert [] == [path for path in paths if not (ROOT / path).exists()]
    top = {path.name for path in ROOT.iterdir() if not path.name.startswith((".", "_build"))}
    assert {"README.md"} == top - {path.split("/")[0] for path in paths}


def test_commands() -> None:
    """Every make target that the README names is in the Makefile, and CI runs its two commands."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    named = set(re.findall(r"\bmake (?:PYTHON=\S+ )?([a-z]+)", README))
    assert {"html", "test"} < named
    assert set() == named - targets
    ci = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert "for target in lint html test; do" in ci
