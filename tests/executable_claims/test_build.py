"""The build as a whole: what it says, what it makes, and whether it fails."""

from __future__ import annotations

import jsonschema
import pytest

from executable_claims.report import schema


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
    assert BROKEN == build_once("broken").warnings


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
    project.build()
    again = project.build()
    assert ([], [], [], []) == (again.warnings, again.ran, again.read, again.written)


BROKEN = [
    "directives.md:19: 'claim': Unknown option key: 'colour' (allowed: ['kind', 'reason', 'recorded', 'threads']) [myst.directive_option]",
    "directives.md:3: the slug of a claim must be lower-case words joined by hyphens, but got 'Not a slug'; write it after {claim} [claims.malformed]",
    "directives.md:8: the kind of claim strange-kind must be one of parity, safer, limit, status-quo, peer, performance, but got 'certainty'; write it as the option :kind: [claims.malformed]",
    "directives.md:13: claim no-sentence must state a sentence, but got none; write it as the body [claims.malformed]",
    "directives.md:17: the options of claim strange-option must be among kind, threads, recorded, reason, but got 'colour'; remove it [claims.malformed]",
    "directives.md:23: recorded claim recorded-without-reason must say why no cell decides it, but got no :reason:; write the reason [claims.malformed]",
    "directives.md:29: :recorded: of claim recorded-at-no-date must be a date such as 2025-01-31, but got 'yesterday'; write the day of the recording [claims.malformed]",
    "directives.md:36: claim recorded-parity must be of kind peer or performance to be recorded, but got 'parity'; decide it by a cell [claims.malformed]",
    "directives.md:43: claim no-such-thread must be decided by a cell, but its page has no cells to run; write `file_format: mystnb` into its front matter [claims.undecided]",
    "directives.md:43: the threads of claim no-such-thread must be repository#number, with a repository of claims_threads (none), but got 'nowhere#1'; correct it [claims.malformed]",
    "directives.md:50: {claim} inside-a-note must stand at the top level of its page, but got it inside another block; move it out, next to the cell that decides it [claims.misplaced]",
    "evidence.md:8: claim sum-is-wrong must hold, but 2 of 3 checks failed:\n    line 17: one and one: expected 3, got 2\n    line 19: one is more than two: expected true, got False\n    mend what regressed, or correct the claim [claims.regressed]",
    'evidence.md:22: claim no-evidence must be decided by a cell, but no cell does; write `with claim("no-evidence") as check:` in a code cell of its page [claims.undecided]',
    "evidence.md:34: claim decided-twice must be decided once, but line 34 decides it too; put all checks into one block [claims.duplicate]",
    "evidence.md:47: evidence must name a claim, but got 'stated-twise'; did you mean 'stated-twice' or 'decided-twice'? correct the name or add the claim directive [claims.unknown]",
    "evidence.md:51: claim block-raises must hold, but 1 of 2 checks failed:\n    line 59: the block runs to its end: expected no exception, got NameError: name 'no_such_name' is not defined\n    mend what regressed, or correct the claim [claims.regressed]",
    "index.md:12: a mentioned claim must exist, but got 'no-such-claim'; did you mean 'no-such-thread' or 'no-checks'? correct the name or add the claim [claims.unknown]",
    "index.md:12: a mentioned claim must exist, but got 'sum-is-wrng'; did you mean 'sum-is-wrong'? correct the name or add the claim [claims.unknown]",
    "silent.md:1: a page must not change how cells are run, but got mystnb: execution_allow_errors; remove it [claims.silent-pass]",
    "silent.md:18: the evidence of claim hidden-evidence must be visible, but got the tag 'remove-input' on its cell; remove the tag [claims.silent-pass]",
    "silent.md:24: claim no-checks must be decided by at least one check, but its block in line 30 makes none; call check.equal, check.close, check.same, check.holds or check.raises in it [claims.silent-pass]",
    "silent.md:37: the cell must raise, as its tag raises-exception says, but it ran to its end; remove the tag or mend the cell [claims.silent-pass]",
    "silent.md:43: every cell must run, but got the tag 'skip-execution'; remove the tag [claims.silent-pass]",
    "stops.md:10: the cells of a chapter must run to their end, but got ZeroDivisionError: division by zero; mend the cell, or state the exception as a claim with check.raises [claims.cell-error]",
    "stops.md:16: claim after-the-stop must be decided by a cell, but the cells of its page stopped in line 10; mend that cell first [claims.undecided]",
    "stored.ipynb:1: a chapter must be a Markdown page, whose cells run in every build, but got a notebook file, which shows the outputs stored in it; convert it [claims.silent-pass]",
    "twin.md:8: claim stated-twice must be made once, but evidence makes it too, in line 38; rename or remove one [claims.duplicate]",
    "twin.md:16: claim no-evidence must be decided on its own page, evidence, but got evidence here; move the cell or the claim [claims.misplaced]",
]
