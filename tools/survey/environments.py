"""Environments of their own for other packages, and child processes that run in them."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_MARK = "requirements.txt"


class NotRunError(Exception):
    """An environment can't be made here, or its package can't be imported; the text says why."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment under `_build`, or the project's own.

    Attributes:
        folder: its folder, relative to `_build`.
        requirements: what pip installs; nothing for the environment that this process runs in.
        package: the module that must be importable in it.
        pythons: the interpreters that the packages have wheels for, best first; any, if empty.
        libraries: folders in `site-packages` with libraries for the dynamic loader.
    """

    folder: str
    requirements: tuple[str, ...]
    package: str
    pythons: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """Its folder on this machine."""
        return ROOT / "_build" / self.folder

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.path / "bin" / "python" if self.requirements else Path(sys.executable)

    def make(self) -> None:
        """Make it, unless it is there as it should be.

        Raises:
            NotRunError: there is no Python or no wheel for it, or the package can't be imported.
        """
        wanted = "\n".join(self.requirements) + "\n"
        mark = self.path / _MARK
        if self.requirements and (not mark.exists() or mark.read_text(encoding="utf-8") != wanted):
            _called([_interpreter(self.pythons), "-m", "venv", "--clear", str(self.path)])
            pip = [str(self.python), "-m", "pip", "install", "--quiet"]
            _called([*pip, "--disable-pip-version-check", *self.requirements])
            mark.write_text(wanted, encoding="utf-8")
        _called([str(self.python), "-c", f"import {self.package}"], self.variables())

    def variables(self) -> dict[str, str]:
        """Return the environment variables that its programs run with."""
        variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        folders = [str(p) for name in self.libraries for p in self.path.glob(_SITE + name)]
        if folders:
            variables["LD_LIBRARY_PATH"] = os.pathsep.join(folders)
        return variables

    def versions(self, distributions: Sequence[str]) -> dict[str, str]:
        """Return the versions of Python and of some of its distributions."""
        code = (
            "import json, platform, sys; from importlib.metadata import version; "
            "print(json.dumps({'python': platform.python_version(), "
            "**{name: version(name) for name in sys.argv[1:]}}))"
        )
        found: dict[str, str] = json.loads(_called([str(self.python), "-c", code, *distributions]))
        return found

    def ask(
        self, program: Path, *arguments: str, seconds: float = 600, **variables: str
    ) -> dict[str, Any]:
        """Run a program and return the JSON object that is the last line of its output.

        A program that dies or hangs is an answer too: `{"died": how}`.
        """
        try:
            done = subprocess.run(
                [str(self.python), str(program), *arguments],
                capture_output=True, text=True, timeout=seconds, check=False,
                env={**self.variables(), **variables}, cwd=self.path,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {"died": f"no answer in {seconds:g} s"}
        lines = done.stdout.strip().splitlines()
        if done.returncode:
            return {"died": f"the process ended with status {done.returncode}"}
        answer: dict[str, Any] = json.loads(without_places(lines[-1]))
        return answer


_SITE = "lib/python*/site-packages/"


def _interpreter(pythons: Sequence[str]) -> str:
    """Return the first of some interpreters that runs here."""
    for name in pythons or (sys.executable,):
        found = shutil.which(name)
        if found and not subprocess.run([found, "-c", ""], capture_output=True).returncode:
            return found
    raise NotRunError(f"it needs {' or '.join(pythons)}, but this machine has none of them")


def _called(command: Sequence[str], variables: dict[str, str] | None = None) -> str:
    """Return what a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "Error" in line or "ERROR" in line]
        raise NotRunError(without_places((lines or done.stderr.splitlines() or ["no reason"])[-1]))
    return done.stdout


def without_places(text: str) -> str:
    """Return a text without this machine's folders and without addresses."""
    for folder in {ROOT, ROOT.resolve(), *(p.resolve() for p in (ROOT / "_build").glob("*"))}:
        text = text.replace(f"{folder}{os.sep}", "")
    text = text.replace(str(Path.home()), "~")
    return re.sub(r"(?:file|https?)://\S+", "…", text)


def machine() -> str:
    """Return what kind of machine this is."""
    model = "unknown processor"
    cpu_info = Path("/proc/cpuinfo")
    if cpu_info.exists():
        found = re.search(r"model name\s*: (.*)", cpu_info.read_text(encoding="utf-8"))
        model = found[1].strip() if found else model
    return f"{platform.system()} {platform.machine()}, {model}, {os.cpu_count()} cores"
