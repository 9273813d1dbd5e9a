"""The block that decides a claim, as cells, tests and the prompt use it."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from executable_claims import claim
from executable_claims.errors import EvidenceError
from executable_claims.evidence import collecting


def decide(use):
    """Return the evidence of a block whose body is ``use``."""
    found = []
    with collecting(found.append), claim("some-claim") as check:
        use(check)
    (evidence,) = found
    return evidence


def report(*rows, differences=()):
    """Return a comparison of eager and static."""
    return SimpleNamespace(rows=lambda: rows, differences=differences)


@pytest.mark.parametrize(
    ("use", "passed"),
    [
        (lambda check: check.equal(3, 1 + 2), True),
        (lambda check: check.equal(3, 4), False),
        (lambda check: check.equal([1.0, 2.0], np.array([1.0, 2.0])), True),
        (lambda check: check.equal([1.0, 2.0], np.array([[1.0, 2.0]])), False),
        (lambda check: check.equal([1.0, 1.0], np.array(1.0)), False),
        (lambda check: check.equal([("f", [7.0])], [("f", np.array([7.0]))]), True),
        (lambda check: check.equal({"a": np.array([1])}, {"a": [1]}), True),
        (lambda check: check.equal(np.ndarray, np.ndarray), True),
        (lambda check: check.equal((1,), [1]), False),
        (lambda check: check.close(1.0, 1.0 + 1e-7), True),
        (lambda check: check.close(1.0, 1.1), False),
        (lambda check: check.close([1.0, 2.0], np.array([1.0, 2.0 + 1e-6])), True),
        (lambda check: check.close([1.0, 2.0], [1.0]), False),
        (lambda check: check.close(0.0, 1e-9), True),
        (lambda check: check.close(1.0, 1.2, rtol=0.5), True),
        (lambda check: check.close(1.0, float("nan")), False),
        (lambda check: check.close(float("nan"), float("nan")), True),
        (lambda check: check.close(float("inf"), float("inf")), True),
        (lambda check: check.close(float("inf"), 1.0), False),
        (lambda check: check.close(1.0, float("inf")), False),
        (lambda check: check.close(1.0, "1.0"), False),
        (lambda check: check.holds(1 < 2, "one is less than two"), True),
        (lambda check: check.holds(np.array([True, False]), "both"), False),
        (lambda check: check.same(report(("x", "1", "1", ""))), True),
        (lambda check: check.same(report()), False),
        (lambda check: check.same(report(("x", "1", "2", "d"), differences=("x differs",))), False),
    ],
)
def test_a_check_says_whether_it_passed(use, passed):
    """Each kind of check is true of what is so and false of what is not."""
    (check,) = decide(use).checks
    assert passed is check.passed


def raise_value_error(check, *expected):
    """Expect an exception while ``ValueError("no")`` is raised."""
    with check.raises(*expected):
        raise ValueError("no")


@pytest.mark.parametrize(
    ("expected", "passed", "got"),
    [
        ((ValueError,), True, "ValueError: no"),
        ((ValueError, "^no$"), True, "ValueError: no"),
        ((ValueError, "yes"), False, "ValueError: no"),
    ],
)
def test_raises_compares_type_and_text(expected, passed, got):
    """An expected exception must be of the type and hold the text."""
    (check,) = decide(lambda check: raise_value_error(check, *expected)).checks
    assert (passed, got) == (check.passed, check.got)


def test_raises_fails_when_nothing_is_raised():
    """A block that does not raise fails its check."""

    def use(check):
        with check.raises(ValueError):
            pass

    (check,) = decide(use).checks
    assert (False, "no exception") == (check.passed, check.got)


def test_another_exception_ends_the_block():
    """An exception of another type fails the check and the block, and goes no further."""
    evidence = decide(lambda check: raise_value_error(check, KeyError))
    assert [
        ("raises KeyError", False, "ValueError: no"),
        ("the block runs to its end", False, "ValueError: no"),
    ] == [(check.what, check.passed, check.got) for check in evidence.checks]


def test_a_failed_check_does_not_stop_the_block():
    """All checks of a block are made, whatever became of those before."""

    def use(check):
        check.equal(1, 2, "first")
        check.equal(2, 2, "second")

    assert [("first", False), ("second", True)] == [
        (check.what, check.passed) for check in decide(use).checks
    ]


def test_checks_know_their_line():
    """A check has the line that made it, also when a helper of another file called it."""
    evidence = decide(lambda check: check.equal(1, 1))
    first = sys._getframe().f_lineno - 1
    assert [first] == [check.line for check in evidence.checks]


def test_rows_become_the_evidence_table():
    """What a comparison compared is kept row by row, with the name of the comparison."""
    evidence = decide(lambda check: check.same(report(("x", 1, 2, None)), "twice"))
    (row,) = evidence.rows
    assert ("twice: x", "1", "2", "") == (row.what, row.eager, row.static, row.difference)


def test_a_value_whose_repr_raises_does_not_hide_the_comparison():
    """A broken repr is shown as such."""

    class Broken:
        def __repr__(self):
            raise RuntimeError("broken")

    (check,) = decide(lambda check: check.holds(Broken(), "it is something")).checks
    assert (True, "<Broken whose repr raises RuntimeError>") == (check.passed, check.got)


def test_long_values_are_cut():
    """Evidence is for reading: a very long value is cut."""
    (check,) = decide(lambda check: check.equal("", "x" * 5000)).checks
    assert 2000 == len(check.got)
    assert check.got.endswith("…")


def decide_wrongly():
    """Decide a claim with two checks that fail."""
    with claim("some-claim") as check:
        check.equal(1, 2, "first")
        check.holds(False, "second")


def test_outside_of_a_build_failures_raise():
    """In a test or at the prompt a failing claim raises, with all its failures."""
    line = decide_wrongly.__code__.co_firstlineno
    with pytest.raises(AssertionError) as raised:
        decide_wrongly()
    assert [
        f"claim some-claim: first: expected 1, but got 2 (line {line + 3})",
        f"claim some-claim: second: expected true, but got False (line {line + 4})",
    ] == str(raised.value).splitlines()


def test_outside_of_a_build_no_checks_raise():
    """A block without a check decides nothing, which is a mistake."""
    with (
        pytest.raises(AssertionError, match="claim some-claim must be decided by at least one"),
        claim("some-claim"),
    ):
        pass


@pytest.mark.parametrize("slug", ["Some Claim", "some_claim", "-", "", None, "a--b"])
def test_the_name_must_be_a_slug(slug):
    """What can't be the name of a claim is refused at once."""
    with pytest.raises(EvidenceError, match="must be lower-case words joined by hyphens, but got"):
        claim(slug).__enter__()


def test_an_interrupt_is_not_evidence():
    """Stopping the program by hand stops it."""
    with pytest.raises(KeyboardInterrupt), collecting(list), claim("some-claim"):
        raise KeyboardInterrupt


def test_cells_do_not_pay_for_sphinx():
    """Importing the block imports neither Sphinx nor the notebook machinery."""
    program = (
        "import sys; from executable_claims import claim; "
        "print([name for name in ('sphinx', 'docutils', 'IPython', 'yaml') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "[]\n" == done.stdout
