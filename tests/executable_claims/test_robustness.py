"""Builds that run side by side or are killed leave nothing that makes a later build wrong."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from executable_claims.store import prune

pytestmark = pytest.mark.parametrize("project", ["fresh"], indirect=True)
SWITCH = {True: ("width + height", "width * height"), False: ("width * height", "width + height")}


def start(project, output="html"):
    """Start a build in a process of its own, on two processes for reading and writing."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "2", "-b", "html"]
    return subprocess.Popen(
        [*command, ".", f"_build/{output}"], cwd=project.root, stderr=subprocess.PIPE, text=True
    )


def test_a_killed_build_does_no_harm(project):
    """After kills at 20 random moments, with edits in between, builds say what is true."""
    moments = random.Random(20)
    right = True
    for count in range(1, 21):
        right = not right
        project.edit("shapes/plane.py", *SWITCH[right])
        build = start(project)
        try:
            build.communicate(timeout=moments.uniform(0.1, 1.8))
        except subprocess.TimeoutExpired:
            build.send_signal(signal.SIGKILL)
            build.communicate()
        if count % 4 == moments.randrange(4) or count == 20:
            finished = project.build()
            assert (0 if right else 1) == finished.code
            word = "holds" if right else "regressed"
            assert f'<span class="claim-verdict">{word}</span>' in finished.page("area")
            assert word == finished.verdicts["area-is-six"]


def test_cold_builds_side_by_side_do_not_race(project):
    """Twenty cold parallel builds, four at a time with one store, are all green."""

    def build(output):
        process = start(project, output)
        _, errors = process.communicate()
        return process.returncode, errors

    for _ in range(5):
        shutil.rmtree(project.root / "_build", ignore_errors=True)
        with ThreadPoolExecutor() as pool:
            assert [(0, "")] * 4 == list(pool.map(build, ["one", "two", "three", "four"]))


def test_what_killed_builds_left_is_removed(project):
    """Files of processes that no longer exist are removed, those of others are not."""
    store = project.root / "store"
    store.mkdir()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for process in (ended.pid, 1):
        (store / f"area.json.{process}.partial").touch()
        (store / f"run.{process}.x").mkdir()
    prune(store, ["area"])
    assert ["area.json.1.partial", "run.1.x"] == sorted(path.name for path in store.iterdir())
