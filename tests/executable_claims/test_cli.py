"""The commands: decide, list, explain and check claims, run them under mutants, compare builds."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from executable_claims.changes import changes
from executable_claims.cli import main
from executable_claims.digest import OWN_FOLDER


@pytest.fixture(scope="module")
def rich(copy_project, tmp_path_factory):
    """Return a copy of the project that uses everything, for commands that change nothing."""
    return copy_project("rich", tmp_path_factory.mktemp("cli"))


def run(project, *arguments):
    """Run a command in a process of its own, as a user does."""
    paths = os.pathsep.join([str(OWN_FOLDER.parent), str(project.root)])
    done = subprocess.run(
        [sys.executable, "-m", "executable_claims", *arguments],
        cwd=project.root,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, re.sub(r"\d+\.\d\d s", "0.00 s", done.stdout), done.stderr


def test_run_decides_one_claim(rich):
    """Running a claim prints its sentence, verdict and evidence, and ends well."""
    code, output, errors = run(rich, "run", "sum-of-two")
    assert (0, "") == (code, errors)
    assert [
        "sum-of-two (parity): holds",
        "  The sum of `2` and *three* is 5 < 6 & no more.",
        "  2 checks in 0.00 s",
        "    total: eager 5 | static 5 | same",
        "    line 25: passed: eager and static agree",
        "      expected no difference",
        "      got      1 quantities, no difference",
    ] == output.splitlines()[:7]


def test_run_under_a_mutant_shows_the_failure(rich):
    """Under a wrong design the claim regresses, and the message says where and what to do."""
    code, output, errors = run(rich, "run", "double-is-sum", "--mutant", "forgets")
    assert 1 == code
    assert "double-is-sum (limit): regressed" == output.splitlines()[0]
    assert [
        "sums.md:31: claim double-is-sum must hold, but 1 of 1 checks failed:",
        "    line 39: equal: expected 6, got 3",
        "    mend what regressed, or correct the claim [claims.regressed]",
    ] == errors.splitlines()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ("run", "sum-of-too"),
            "executable_claims: a claim must exist, but got 'sum-of-too'; did you mean "
            "'sum-of-two'? list them with `python -m executable_claims list`",
        ),
        (
            ("run", "sum-of-two", "--mutant", "forgetful"),
            "executable_claims: a mutant must exist, but got 'forgetful'; did you mean 'forgets'? "
            "list them with `python -m executable_claims list --mutants`",
        ),
        (
            ("diff", "no-such-file.json", "other.json"),
            "executable_claims: no-such-file.json must be a claims.json that a build wrote, but "
            "reading it gave FileNotFoundError: [Errno 2] No such file or directory: "
            "'no-such-file.json'; give the path of such a file",
        ),
    ],
)
def test_a_wrong_question_gets_one_sentence(rich, arguments, error):
    """What does not exist is said in one line, with what looks like it, and the code 2."""
    assert (2, "", f"{error}\n") == run(rich, *arguments)


def test_outside_of_a_project_the_commands_say_so(tmp_path, monkeypatch, capsys):
    """Without a conf.py there is nothing to talk about."""
    monkeypatch.chdir(tmp_path)
    assert 2 == main(["list"])
    assert (
        f"executable_claims: the project folder must hold a conf.py, but got {tmp_path}; go to "
        "the project's folder\n"
    ) == capsys.readouterr().err


def test_list_names_every_claim(rich, monkeypatch, capsys):
    """The list has a line for each claim that an editor can jump to."""
    monkeypatch.chdir(rich.root)
    assert 0 == main(["list"])
    lines = capsys.readouterr().out.splitlines()
    assert 5 == len(lines)
    assert "sums.md:42: add-exists (safer): There is a function that adds." == lines[-1]


def test_list_names_the_mutants(rich):
    """The list of mutants has what each does wrong."""
    code, output, _ = run(rich, "list", "--mutants")
    assert (0, "multiplies: It multiplies. (made up)") == (code, output.splitlines()[0])


def test_explain_says_what_is_known(rich, monkeypatch, capsys):
    """Explaining a claim needs no run, and says how to accept its sentence."""
    monkeypatch.chdir(rich.root)
    assert 0 == main(["explain", "double-is-sum"])
    assert [
        "double-is-sum",
        "  sentence:    A double is the sum of a number with itself, see {claim}`sum-of-two`.",
        "  kind:        limit",
        "  place:       sums.md:31",
        "  decided in:  sums.md:38",
        "  run with:    make claim ID=double-is-sum",
        "  threads:     none",
        "  state:       proposed (other words were accepted in example#1)",
        "  to accept:   :accepted: THREAD a79a5fec",
    ] == capsys.readouterr().out.splitlines()


def test_check_finds_nothing_in_a_right_project(rich):
    """A project without mistakes passes the check."""
    assert (0, "5 claims in 1 chapters, 0 mistakes\n", "") == run(rich, "check")


def test_check_finds_mistakes_without_running(copy_project, tmp_path):
    """The check of the broken sample gives its complete list of messages, with no cell run."""
    project = copy_project("broken", tmp_path)
    code, output, errors = run(project, "check")
    expected = (project.root / "check.txt").read_text(encoding="utf-8")
    assert expected.splitlines() == output.splitlines()
    assert (1, "") == (code, errors)
    assert not (project.root / "_build").exists()


def test_check_wants_a_claim_for_each_rule(copy_project, tmp_path):
    """A rule of the project that no claim states is a mistake."""
    project = copy_project("rich", tmp_path)
    project.edit("arithmetic/mutants.py", '"double-is-sum")', '"sum-of-none")')
    code, output, _ = run(project, "check")
    assert 1 == code
    assert (
        "conf.py:16: rule sum-of-none of arithmetic.mutants:RULES must have a claim of its name, "
        "but got none; write the claim in the chapter of its subject [claims.rule]"
    ) == output.splitlines()[0]


def test_falsify_records_who_kills_whom(copy_project, tmp_path):
    """Claims are run under all mutants that they use; what is not killed or kills nothing is said.

    A mutant that ends the process in the middle of a chapter keeps no later claim from its trial.
    """
    project = copy_project("rich", tmp_path)
    code, output, errors = run(project, "falsify", "--all")
    assert 1 == code
    assert "[4/4] sums from sum-of-two under " in errors
    assert "[1/1] sums from double-is-sum under ends" == errors.splitlines()[-1]
    assert [
        "sums.md:42: claim add-exists must be killed by at least one mutant, but all 4 let it "
        "live; sharpen its checks, or add the wrong design that it excludes to claims_mutants "
        "[claims.unfalsified]",
        "matrix.json:1: mutant ends must kill at least one claim, but kills none; remove it, or "
        "write the claim that excludes it [claims.unfalsified]",
        "matrix.json:1: mutant raises must kill at least one claim, but kills none; remove it, or "
        "write the claim that excludes it [claims.unfalsified]",
        "3 claims, 4 mutants, 4 kills",
    ] == output.splitlines()
    rows = json.loads((project.root / "matrix.json").read_text(encoding="utf-8"))["rows"]
    mutants = ("multiplies", "forgets", "ends", "raises")
    assert {
        "sum-of-two": ("killed", "killed", "no verdict", "raised"),
        "double-is-sum": ("killed", "killed", "no verdict", "raised"),
        "add-exists": ("untouched",) * 4,
    } == {slug: tuple(row["effects"][name] for name in mutants) for slug, row in rows.items()}
    again = run(project, "falsify", "--all")
    assert (output, "") == again[1:], "what did not change is not run again"
    check_the_record_is_used(project)


def check_the_record_is_used(project):
    """Claims that nothing kills fail the build; one that came later fails the check alone."""
    build = project.build()
    assert 1 == build.code
    assert ["matrix.json:1", "matrix.json:1", "sums.md:42"] == [
        warning.split(": ")[0] for warning in build.warnings
    ]
    assert "●" in build.page("claims")
    project.edit("sums.md", "{claim} add-exists", "{claim} add-is-there")
    project.edit("sums.md", 'claim("add-exists")', 'claim("add-is-there")')
    _, output, _ = run(project, "check")
    assert (
        "sums.md:42: claim add-is-there must have been tried under the mutants, but matrix.json "
        "does not have it; run `make falsify` [claims.unfalsified]"
    ) in output
    assert "add-is-there" not in "".join(project.build().warnings)


def claim(verdict="holds", sentence="So it is.", kind="parity"):
    """Return a claim as ``claims.json`` has it."""
    return {"verdict": verdict, "sentence": sentence, "kind": kind}


def test_changes_between_two_builds_are_named():
    """What regressed comes first, then what was fixed, came, went and was reworded."""
    old = {
        "same": claim(),
        "worse": claim(),
        "better": claim("regressed"),
        "gone": claim(),
        "said-otherwise": claim(),
        "recorded": claim(),
    }
    new = {
        "same": claim(),
        "worse": claim("undecided"),
        "better": claim(),
        "come": claim(),
        "come-broken": claim("regressed"),
        "said-otherwise": claim(sentence="So it shall be.", kind="limit"),
        "recorded": claim("recorded"),
    }
    assert [
        ("regressed", "come-broken: So it is. (regressed)"),
        ("regressed", "worse: holds before, undecided now"),
        ("fixed", "better: regressed before, holds now"),
        ("new", "come: So it is. (holds)"),
        ("removed", "gone: So it is."),
        ("reworded", "said-otherwise: 'So it is.' before, 'So it shall be.' now"),
        ("changed", "recorded: holds before, recorded now"),
        ("changed", "said-otherwise: parity before, limit now"),
    ] == changes(old, new)


def test_diff_fails_when_a_claim_regressed(project, monkeypatch, capsys):
    """Comparing the files of two builds prints the changes, and the code tells a regression."""
    monkeypatch.chdir(project.root)
    good = project.build().html / "claims.json"
    good.rename(project.root / "good.json")
    project.edit("shapes/__init__.py", "width * height", "width + height")
    bad = project.build().html / "claims.json"
    assert 1 == main(["diff", "good.json", str(bad)])
    assert (
        "regressed: area-is-a-product: holds before, regressed now"
        == (capsys.readouterr().out.splitlines()[0])
    )
    assert 0 == main(["diff", "good.json", "good.json"])
    assert "no claim changed\n" == capsys.readouterr().out
