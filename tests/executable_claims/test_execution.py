"""Chapters run without a kernel, each in a process of its own, whatever their cells do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from executable_claims.errors import ExecutionError
from executable_claims.execution import Order, Setting, run_orders
from executable_claims.project import load_site


@pytest.fixture(scope="module")
def site(tmp_path_factory, copy_project):
    """Return the project of odd chapters, all of them run."""
    site = load_site(copy_project("odd", tmp_path_factory.mktemp("odd")).root)
    site.refresh()
    return site


def faults(site, docname):
    """Return what went wrong in a chapter, without the details that follow the first line."""
    return [
        (fault.subtype, fault.line, fault.text.splitlines()[0])
        for fault in site.executions[docname].faults
    ]


def texts(outputs):
    """Return what a cell showed, as pairs of where and what."""
    return [
        (out.get("name") or out["output_type"], out.get("text") or out["data"].get("text/plain"))
        for out in outputs
    ]


@pytest.mark.parametrize(
    ("docname", "line", "text"),
    [
        (
            "kills",
            13,
            "the cells of a chapter must run to their end, but this cell killed its process by "
            "SIGSEGV; mend the cell or what it calls",
        ),
        (
            "leaves",
            9,
            "the cells of a chapter must run to their end, but this cell ended its process with "
            "exit code 0; remove what ends the process",
        ),
        (
            "quits",
            11,
            "the cells of a chapter must run to their end, but got SystemExit: 0; mend the cell, "
            "or state the exception as a claim with check.raises",
        ),
        (
            "hangs",
            9,
            "the cells of a chapter must run to their end, but this cell was still running after "
            "10 seconds; make it faster or raise claims_timeout in conf.py",
        ),
        (
            "wrong",
            10,
            "the cells of a chapter must run to their end, but got SyntaxError: invalid syntax "
            "(wrong.md, line 10); mend the cell, or state the exception as a claim with "
            "check.raises",
        ),
    ],
)
def test_a_cell_that_does_not_end_is_reported_where_it_is(site, docname, line, text):
    """A crash, an exit, a hang or a syntax error names the line of the chapter and the remedy."""
    assert [("cell-error", line, text)] == faults(site, docname)


def test_the_last_words_of_a_crash_are_kept(site):
    """What a dying process wrote to stderr is part of the message."""
    assert "last words" in site.executions["leaves"].faults[0].text


def test_all_that_a_cell_shows_is_an_output_in_order(site):
    """Python's, the system's, a child's and C's output all appear, each in its place."""
    first, second, third = site.executions["shows"].outputs
    assert [
        ("stdout", "first\nsecond\n"),
        ("stderr", "third\n"),
        ("stdout", "fourth\n"),
        ("execute_result", "'fifth'"),
    ] == texts(first)
    assert [("stdout", "from C\nfrom Python\n")] == texts(second)
    assert [["text/html", "text/plain"], ["image/png", "text/plain"]] == [
        sorted(out["data"]) for out in third
    ]


def test_images_are_encoded(site):
    """An image is bytes in the cell and text in the notebook."""
    assert "iVBORw0KGgo=" == site.executions["shows"].outputs[2][1]["data"]["image/png"].strip()


def test_cells_see_a_notebook(site):
    """Magics, top-level await, the source of functions and the folder are as in a notebook."""
    _, second, third, _ = site.executions["sees"].outputs
    assert "odd __main__ 42" == second[0]["text"].splitlines()[-1]
    assert (
        "def twice(number):\n    # A comment belongs to the source.\n    return 2 * number\n\n"
        == third[0]["text"]
    )


def test_cells_can_not_wait_for_input(site):
    """A cell that asks for input is a mistake, not a build that waits for ever."""
    assert [("cell-error", 34)] == [fault[:2] for fault in faults(site, "sees")]


def test_a_traceback_has_the_lines_of_the_chapter(site):
    """A shown exception names the page, with the numbers of its lines and without its folder."""
    error = site.executions["raises"].outputs[0][-1]
    shown = "\n".join(error["traceback"])
    assert "Chapter raises.md, line 15" in shown
    assert "Chapter raises.md, line 12, in fail()" in shown
    assert '---> 12     raise ValueError("no")' in shown
    assert str(site.root) not in shown


def test_an_expected_exception_does_not_stop_the_chapter(site):
    """A cell tagged raises-exception raises, and the next one runs."""
    assert [] == faults(site, "raises")
    assert 2 == len(site.executions["raises"].outputs)


def test_results_name_the_versions(site):
    """The versions of Python and of the named distributions are part of the result."""
    assert ["python", "sphinx"] == sorted(site.executions["shows"].versions)


def test_nothing_is_left_running_or_lying_about(site):
    """When all has run, no process and no scratch file of it is left."""
    assert [] == [path.name for path in site.store.iterdir() if path.suffix != ".json"]
    marked = str(site.store).encode()
    left = [p for p in Path("/proc").glob("[0-9]*/environ") if marked in _bytes(p)]
    assert [] == [path for path in left if path.parent.name != str(os.getpid())]


def _bytes(path):
    try:
        return path.read_bytes()
    except OSError:  # it ended meanwhile, or is not ours
        return b""


def test_a_preload_that_fails_is_the_author_s_mistake(site, tmp_path):
    """A module that can't be imported is reported with its traceback and the setting to mend."""
    page = site.chapters["raises"]
    order = Order("raises", site.job(page, "", site.look_around()))
    with pytest.raises(ExecutionError, match="claims_preload must be importable") as raised:
        run_orders([order], Setting(tmp_path, preload=("no_such_module",)))
    assert "ModuleNotFoundError: No module named 'no_such_module'" in str(raised.value)
