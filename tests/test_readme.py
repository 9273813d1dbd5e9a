"""What the README says is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
MODEL = """\
import paddle
import static_hooks

class Model(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = paddle.nn.Linear(2, 2)

    def forward(self, x):
        y = self.linear(x)
        y.register_hook(lambda gradient: gradient * gradient)
        return y + y * y

model, x = Model(), paddle.ones([3, 2])
"""


def run(code: str, folder: Path) -> str:
    """Return what a script prints in a process of its own."""
    script = folder / "snippet.py"
    script.write_text(code, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, str(script)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert 0 == result.returncode, result.stderr
    return result.stdout


def test_first_snippet(tmp_path: Path) -> None:
    """The first snippet prints the value in its comment, as it stands."""
    assert "98.0\n" == run(SNIPPETS[0], tmp_path)
    assert SNIPPETS[0].endswith("print(x.grad.item())  # 98.0\n")


def test_own_model_snippet(tmp_path: Path) -> None:
    """The second snippet finds a hooked model the same in both modes, and explains its hook."""
    said = run(MODEL + SNIPPETS[1], tmp_path).splitlines()
    assert "Report(eager, ast: same)" == said[0]
    assert "print(static_hooks.compare(model, x))  # Report(eager, ast: same)" in SNIPPETS[1]
    assert "<lambda> traced" in said[1]


def test_length() -> None:
    """The README is short, and its snippet is seen without scrolling."""
    assert README.count("\n") <= 100
    assert README.partition("# 98.0\n")[0].count("\n") < 25


def test_folder_map() -> None:
    """The map names every tracked file and folder at the top, and only what exists."""
    table = README.partition("## Where things are")[2].partition("\n## ")[0]
    named = [
        path
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for path in row.split(", ")
    ]
    paths = [path.strip("`") for path in named]
    assert [] == [path for path in paths if not (ROOT / path).exists()]
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    top = {name.split("/")[0] for name in tracked if not name.startswith(".")}
    assert set() == top - {path.split("/")[0] for path in paths} - {"README.md"}


def test_commands() -> None:
    """Every make target that the README names is in the Makefile, and CI runs its two commands."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    named = set(re.findall(r"\bmake (?:PYTHON=\S+ )?([a-z]+)", README))
    assert {"html", "test"} < named
    assert set() == named - targets
    ci = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert "for target in lint html test; do" in ci
