"""Claims are run under mutants with shortcuts that can miss a kill and never make one up."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from executable_claims import claim
from executable_claims.blocks import cells_for
from executable_claims.cli import main
from executable_claims.evidence import collecting
from executable_claims.falsify import witnesses
from executable_claims.matrix import Design, Effect, Matrix, Row, rebuilt, reworked, sources_digest
from executable_claims.model import Cell
from executable_claims.mutants import Reach
from executable_claims.project import load_site
from executable_claims.trials import Trial


def cell(index, source):
    """Return a cell that starts on line 10."""
    return Cell(index, source, 10)


def test_blocks_of_other_claims_are_taken_out():
    """What is left of a cell stays on its lines; cells after the last wanted block are gone."""
    cells = [
        cell(0, 'x = 1\nwith claim("one") as check:\n    y = 2\n    check.equal(1, x)\nz = 3'),
        cell(1, 'with claim("two") as check:\n    check.equal(1, 1)'),
        cell(2, 'with claim("three") as check:\n    check.equal(1, 1)'),
    ]
    one, two = cells_for(cells, ["two"])
    assert "x = 1\npass\n\n\nz = 3" == one.source
    assert cells[1] == two


@pytest.mark.parametrize(
    "source",
    [
        '%time\nwith claim("one") as check:\n    pass',
        'for slug in ["one"]:\n    with claim(slug) as check:\n        pass',
    ],
)
def test_a_cell_that_is_not_understood_is_kept(source):
    """A magic command or a computed claim runs as it is."""
    cells = [cell(0, source), cell(1, 'with claim("two") as check:\n    pass')]
    assert source == cells_for(cells, ["two"])[0].source


def test_a_hasty_block_ends_at_the_first_wrong_value():
    """A wrong value ends the block, an exception in place of a value does not."""
    found = []
    differing = SimpleNamespace(
        rows=lambda: [("ast: error", "None", "TypeError: no", "differs")], differences=["differs"]
    )
    with collecting(found.append, hasty=True), claim("some-claim") as check:
        check.same(differing)
        check.equal(1, 2)
        check.equal(3, 4)
    (evidence,) = found
    assert [("no difference", True), ("1", False)] == [
        (check.expected, check.raised) for check in evidence.checks
    ]


def test_what_a_cell_uses_counts_for_all_later_claims():
    """A mutant that a block uses is put down to that claim, one used elsewhere to those after."""
    reach = Reach(["in-a-block", "between", "never"])
    if os.fork() == 0:
        reach.note("in-a-block")  # also by a process that the block forked
        os._exit(0)
    os.wait()
    reach.end_block("first")
    reach.note("between")
    reach.end_cell()
    reach.end_block("second")
    assert {"first": ["in-a-block"], "second": ["between"]} == reach.by_claim


@pytest.fixture
def rich(copy_project, tmp_path, monkeypatch):
    """Return the project that uses everything, run under its mutants."""
    project = copy_project("rich", tmp_path)
    monkeypatch.chdir(project.root)
    monkeypatch.syspath_prepend(str(project.root))
    assert 1 == main(["falsify", "--all"])
    return project


def test_few_runs_prove_that_all_can_fail(copy_project, tmp_path, monkeypatch, capsys):
    """The search finds a kill wherever there is one, and says the same of the rest as all runs."""
    project = copy_project("rich", tmp_path)
    monkeypatch.chdir(project.root)
    monkeypatch.syspath_prepend(str(project.root))
    assert 1 == main(["falsify"])
    few = Matrix.read(project.root / "matrix.json")
    told = [line for line in capsys.readouterr().out.splitlines() if "must be killed" in line]
    assert 1 == len(told)
    assert "claim add-exists" in told[0]
    assert ["sum-of-two", "double-is-sum"] == [slug for slug in few.rows if few.killers(slug)]
    assert all(few.killed(name) for name in ("multiplies", "forgets"))


def test_what_a_full_run_found_is_kept(rich):
    """A short run afterwards takes nothing out of the record while the sources are the same."""
    full = Matrix.read(rich.root / "matrix.json")
    assert 1 == main(["falsify"])
    assert full.rows == Matrix.read(rich.root / "matrix.json").rows


def test_few_trials_prove_every_kill_anew(rich):
    """Each claim with a kill and each mutant that kills is in a trial, and no trial is useless."""
    site = load_site(rich.root)
    site.refresh()
    both = ("sum-of-two", "double-is-sum")
    wanted = [Trial("sums", both, "multiplies"), Trial("sums", ("double-is-sum",), "forgets")]
    assert wanted == witnesses(site, Matrix.read(rich.root / "matrix.json"))


def test_the_record_knows_what_changed_since(rich):
    """Cells that decide otherwise and changed folders are named; prose is not."""
    rich.edit("sums.md", "# Sums", "# The sums")
    site = load_site(rich.root)
    assert ([], []) == (reworked(site, site.matrix), rebuilt(site, site.matrix))
    rich.edit("sums.md", "arithmetic.double(3)", "arithmetic.double(2 + 1)")
    (rich.root / "arithmetic/more.py").write_text("", encoding="utf-8")
    site = load_site(rich.root)
    assert ["double-is-sum"] == reworked(site, site.matrix)
    assert ["arithmetic"] == rebuilt(site, site.matrix)


def test_a_record_is_read_as_it_was_written(tmp_path):
    """Writing a record and reading it again gives the same record."""
    row = Row(sources_digest([cell(0, "")], "a"), {"m": Effect.RAISED, "n": Effect.KILLED})
    designs = (Design("m", "It is wrong.", "made up"), Design("n", "Too.", "made up"))
    matrix = Matrix("2025-01-31", {"python": "3"}, {"package": "0"}, designs, {"a": row})
    matrix.write(tmp_path / "matrix.json")
    assert matrix == Matrix.read(tmp_path / "matrix.json")
    assert (["n"], ["a"], []) == (matrix.killers("a"), matrix.killed("n"), matrix.killed("m"))
