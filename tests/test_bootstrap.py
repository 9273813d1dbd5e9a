"""The commands set themselves up from nothing, and say in one sentence when they cannot."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAMED = [
    *PROJECT["project"]["dependencies"],
    *PROJECT["project"]["optional-dependencies"]["docs"],
    *PROJECT["dependency-groups"]["browser"],
    *PROJECT["dependency-groups"]["dev"],
]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy to a folder what the bootstrap reads, with no environment yet."""
    folder = tmp_path / "checkout"
    shutil.copytree(ROOT / "tools", folder / "tools")
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture
def ready(checkout: Path) -> Path:
    """Give the copy the marks of a finished environment, newer than all that it depends on."""
    (checkout / ".venv/bin").mkdir(parents=True)
    (checkout / ".venv/bin/python").symlink_to(sys.executable)
    (checkout / ".venv/locked").write_text(f"{checkout}|{sys.executable}\n", encoding="utf-8")
    (checkout / ".venv/ready").touch()
    for age, name in enumerate((".venv/ready", ".venv/locked", "pyproject.toml"), start=1):
        set_age(checkout / name, age)
    for path in (checkout / "requirements.lock", *(checkout / "tools").iterdir()):
        set_age(path, 9)
    return checkout


def set_age(path: Path, seconds: int) -> None:
    """Let a file be last changed so many seconds ago."""
    now = path.parent.stat().st_mtime
    os.utime(path, (now - seconds, now - seconds))


def environment(variables: dict[str, str]) -> dict[str, str]:
    """Return this process's environment without what a make that runs these tests put there."""
    ours = {
        key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))
    }
    ours.pop("PYTHON", None)
    return {**ours, **variables}


def make(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run make in a folder and return what it said."""
    return subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=environment(variables),
        capture_output=True,
        text=True,
        check=False,
    )


def changed_python(folder: Path, change: str) -> str:
    """Make a command that is this Python with a change to it made at its start."""
    site = folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(f"import sys\n{change}\n", encoding="utf-8")
    command = folder / "python-changed"
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH="{site}" exec "{sys.executable}" "$@"\n', encoding="utf-8"
    )
    command.chmod(0o755)
    return str(command)


def sentence(result: subprocess.CompletedProcess[str]) -> str:
    """Return the one sentence of a refused set-up, which says nothing else of its own."""
    assert result.returncode == 2
    lines = [line for line in result.stderr.splitlines() if not line.startswith("make")]
    assert len(lines) == 1
    return lines[0]


def test_old_python(checkout: Path, tmp_path: Path) -> None:
    """A Python that is too old is named with its version and with how to choose another."""
    python = changed_python(tmp_path, "sys.version_info = (3, 9, 18, 'final', 0)")
    expected = (
        f"bootstrap: Python must be 3.10 to 3.14, but got 3.9.18 from '{python}'; "
        "name another one, for example: make PYTHON=python3.11"
    )
    assert expected == sentence(make(checkout, "html", f"PYTHON={python}"))
    assert not (checkout / ".venv").exists()


def test_no_python(checkout: Path) -> None:
    """A command that does not exist is named with how to give one that does."""
    expected = (
        "bootstrap: Python must be a command that runs, but got 'no-such-python'; "
        "install Python 3.10 or newer, or name yours: make PYTHON=/path/to/python3"
    )
    assert expected == sentence(make(checkout, "test", "PYTHON=no-such-python"))


def test_no_venv_module(checkout: Path, tmp_path: Path) -> None:
    """A Python without ensurepip, as Debian ships it, is told what to install."""
    python = changed_python(tmp_path, "sys.modules['ensurepip'] = None")
    said = sentence(make(checkout, "html", f"PYTHON={python}"))
    assert said.startswith("bootstrap: Python must come with venv and ensurepip, but got '")
    assert "ensurepip" in said.partition("but got")[2]
    assert said.endswith(
        "install them (on Debian and Ubuntu: apt install python3-venv) and run make again"
    )


def test_failed_download(checkout: Path) -> None:
    """A package that cannot be fetched is named, and no later run takes the rest for ready."""
    result = make(
        checkout,
        "html",
        f"PYTHON={sys.executable}",
        PIP_CONFIG_FILE=os.devnull,
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS="",
    )
    announced, said, _ = result.stderr.splitlines()
    assert announced.startswith("bootstrap: making .venv")
    assert said.startswith(
        "bootstrap: pip must be able to fetch and verify every package of requirements.lock, "
        "but got 'ERROR: No matching distribution found for accessible-pygments"
    )
    assert said.endswith("then run make again (all that pip said: .venv/pip.log)")
    assert result.returncode == 2
    assert not (checkout / ".venv/locked").exists()
    assert not (checkout / ".venv/ready").exists()


def test_interrupted_install(checkout: Path) -> None:
    """An install that is interrupted while it downloads is begun anew by the next run."""
    with socket.create_server(("127.0.0.1", 0)) as index:
        index.settimeout(60)
        variables = {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_FIND_LINKS": "",
            "PIP_INDEX_URL": f"http://127.0.0.1:{index.getsockname()[1]}",
        }
        command = ["make", "html", f"PYTHON={sys.executable}"]
        with subprocess.Popen(
            command, cwd=checkout, env=environment(variables), start_new_session=True
        ) as process:
            connection, _ = index.accept()
            os.killpg(process.pid, signal.SIGINT)
            connection.close()
    assert 0 != process.returncode
    assert not (checkout / ".venv/ready").exists()
    assert "bootstrap.sh environment" in make(checkout, "--dry-run", ".venv/ready").stdout


def test_second_run(ready: Path) -> None:
    """An environment that is ready is left as it is, whichever Python the shell would find."""
    assert 0 == make(ready, "--question", ".venv/ready").returncode
    assert 0 == make(ready, "--question", ".venv/ready", f"PYTHON={sys.executable}").returncode


@pytest.mark.parametrize("changed", ["requirements.lock", "tools/bootstrap.sh"])
def test_changed_lock(ready: Path, changed: str) -> None:
    """A new lock, or a new way to install it, makes the environment anew."""
    (ready / changed).touch()
    assert "bootstrap.sh environment" in make(ready, "--dry-run", ".venv/ready").stdout


def test_changed_project(ready: Path) -> None:
    """A new pyproject.toml installs the project again, and only the project."""
    (ready / "pyproject.toml").touch()
    steps = make(ready, "--dry-run", ".venv/ready").stdout
    assert "bootstrap.sh project" in steps
    assert "bootstrap.sh environment" not in steps


def test_moved_checkout(ready: Path) -> None:
    """A checkout that was moved makes its environment anew, since that holds its old path."""
    moved = ready.rename(ready.with_name("moved elsewhere"))
    assert "bootstrap.sh environment" in make(moved, "--dry-run", ".venv/ready").stdout


def test_lost_interpreter(ready: Path) -> None:
    """An environment whose interpreter is gone is made anew."""
    (ready / ".venv/bin/python").unlink()
    assert "bootstrap.sh environment" in make(ready, "--dry-run", ".venv/ready").stdout


def test_other_interpreter(ready: Path) -> None:
    """Naming another interpreter is never ignored in favour of the one already there."""
    steps = make(ready, "--dry-run", ".venv/ready", "PYTHON=python-other").stdout
    assert "bootstrap.sh environment '.venv' 'python-other'" in steps


def test_claim_without_id(ready: Path) -> None:
    """`make claim` without a claim says how to name one."""
    expected = (
        "make claim: ID must name a claim, but got none; "
        "for example: make claim ID=accumulated-gradient"
    )
    result = make(ready, "claim")
    assert expected == result.stderr.splitlines()[0]
    assert result.returncode == 2


def test_help() -> None:
    """`make help` lists every target that a user can ask for."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony is not None
    listed = {line.split()[1] for line in make(ROOT, "help").stdout.splitlines()}
    assert set(phony[1].split()) - {"stale"} == listed


def test_oldest_python() -> None:
    """The oldest Python that the bootstrap takes is the oldest that the package takes."""
    assert ">=3.10" == PROJECT["project"]["requires-python"]


def applies(requirement: Requirement) -> bool:
    """Tell whether a requirement is meant for this Python and machine."""
    return requirement.marker is None or requirement.marker.evaluate()


@pytest.mark.parametrize("wanted", [*filter(applies, map(Requirement, NAMED))], ids=str)
def test_lock_is_current(wanted: Requirement) -> None:
    """Every dependency that pyproject.toml names is locked, once, at a version that it allows."""
    lines = re.findall(rf"^{re.escape(wanted.name)}==.*(?= \\$)", LOCK, re.MULTILINE)
    (locked,) = filter(applies, map(Requirement, lines))
    assert wanted.specifier.contains(str(locked.specifier).removeprefix("=="))


def test_lock_names_no_place() -> None:
    """The lock says which files are right and leaves to the user where they come from."""
    assert [] == re.findall(r"^-.*|://.*", LOCK, re.MULTILINE)


def test_build_backend_is_locked() -> None:
    """The editable install builds with the backend that the package names."""
    (backend,) = PROJECT["build-system"]["requires"]
    assert f"\n{backend} \\\n" in LOCK
