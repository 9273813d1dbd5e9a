"""The build as a whole: what it says, what it makes, and whether it fails."""

from __future__ import annotations

import subprocess
from pathlib import Path

import jsonschema
import pytest
from executable_claims.report import schema

ROOTS = Path(__file__).parent.parent / "roots"


def test_a_green_project_builds_without_a_word(build_once):
    """A project whose claims all hold gives no warning and the exit code 0."""
    build = build_once("green")
    assert [] == build.warnings
    assert 0 == build.code
    assert ["rectangle"] == build.ran


def test_claims_json_follows_its_schema(build_once):
    """The data file is what its published schema says, and counts the claims."""
    build = build_once("green")
    jsonschema.validate(build.claims, schema())
    assert 2 == build.claims["totals"]["claims"]
    assert {"area-is-a-product": "holds", "height-counts": "holds"} == build.verdicts


def test_everything_that_is_wrong_is_reported_at_once(build_once):
    """The broken sample gives its complete list of messages, each with file and line."""
    expected = (ROOTS / "test-broken/messages.txt").read_text(encoding="utf-8").splitlines()
    assert expected == "\n".join(build_once("broken").warnings).splitlines()


def test_a_broken_project_fails(build_once):
    """Anything wrong fails the build."""
    assert 1 == build_once("broken").code


def test_claims_json_tells_failed_claims_too(build_once):
    """The data file of a red build follows the schema and has the failed checks."""
    build = build_once("broken")
    jsonschema.validate(build.claims, schema())
    assert "regressed" == build.verdicts["sum-is-wrong"]
    assert "undecided" == build.verdicts["no-checks"]
    evidence = next(c for c in build.claims["claims"] if c["slug"] == "sum-is-wrong")["evidence"]
    assert [False, True, False] == [check["passed"] for check in evidence["checks"]]


@pytest.mark.parametrize("suppressed", [[], ["claims"]])
def test_red_stays_red_when_it_is_built_again(project, suppressed):
    """A second build of the same files fails like the first, even if its warnings are muted."""
    project.overrides = {"suppress_warnings": suppressed}
    project.edit("shapes/__init__.py", "width * height", "width + height")
    first, second = project.build(), project.build()
    assert (1, 1) == (first.code, second.code)
    assert first.warnings == second.warnings


def test_other_warnings_stay_too(project):
    """A warning that Sphinx gives when it reads a page is given by the next build again."""
    project.edit("index.md", "is about areas", "is about {ref}`no-such-label`")
    first, second = project.build(), project.build()
    assert (1, 1) == (first.code, second.code)
    assert ["index.md:8: undefined label: 'no-such-label' [ref.ref]"] == first.warnings
    assert first.warnings == second.warnings


def test_mending_makes_green(project):
    """A build that was red is green as soon as the fault is gone."""
    project.edit("shapes/__init__.py", "width * height", "width + height")
    assert 1 == project.build().code
    project.edit("shapes/__init__.py", "width + height", "width * height")
    assert 0 == project.build().code


def test_a_second_build_runs_reads_and_writes_nothing(project):
    """Without a change nothing is done again."""
    first, again = project.build(), project.build()
    assert ["claims", "index", "rectangle"] == first.read == first.written
    assert ([], [], [], []) == (again.warnings, again.ran, again.read, again.written)


def commit(project, message):
    """Commit the project as it is, and return the commit's name."""
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", message]):
        subprocess.run(["git", *command], cwd=project.root, check=True)
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=project.root, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("project", ["rich"], indirect=True)
def test_links_follow_the_commit_and_the_threads(project):
    """Cards link with the commit and the thread's title of today, and no cell is run for that."""
    (project.root / ".gitignore").write_text("_build\n", encoding="utf-8")
    first = commit(project, "First")
    assert first in project.build().page("sums")
    project.edit("threads.yml", "Why sums?", "Why not sums?")
    second = commit(project, "Second")
    build = project.build()
    assert [] == build.ran
    assert second in build.page("sums")
    assert first not in build.page("sums")
    assert "Why not sums?" in build.page("sums")
