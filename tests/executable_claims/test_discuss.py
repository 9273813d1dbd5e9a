"""Links that open an issue about a claim survive whatever the evidence holds."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from executable_claims.discuss import LONGEST_URL, Desk, Threads, new_issue_url
from executable_claims.model import Check, Claim, Decision, Evidence, Kind, Verdict


def decision(*checks):
    """Return a claim with these checks."""
    claim = Claim("so-it-is", Kind.PARITY, "So it is.", "rfc/page", 7)
    return Decision(claim, Verdict.HOLDS, Evidence("so-it-is", checks))


def desk(base="https://example.org"):
    """Return what makes links."""
    return Desk("a/b", "make claim ID={slug}", "c" * 40, base, "{}.html".format, Threads())


def body(url):
    """Return the text with which an address fills the issue."""
    return parse_qs(urlsplit(url).query, strict_parsing=True)["body"][0]


def test_much_evidence_is_cut_to_a_length_that_works():
    """A long list of checks is cut at a line's end, and the block is still closed."""
    checks = [Check(f"check {n}", True, "π" * 100, "x" * 100, 1) for n in range(500)]
    url = desk().issue_url(decision(*checks), {})
    assert LONGEST_URL >= len(url)
    lines = body(url).splitlines()
    assert "```" == lines[-1]
    assert "… (cut; the page has all of it)" == lines[-2]


def test_evidence_can_not_close_the_block():
    """A fence in a value stays inside of the evidence, and a value stays on its line."""
    url = desk().issue_url(decision(Check("c", False, "a\n```\nb", "&=#%\"'<>", 1)), {})
    assert "FAILED: c: expected a ''' b, got &=#%\"'<>" == body(url).splitlines()[-2]


@pytest.mark.parametrize(
    ("base", "permalink"),
    [
        ("https://example.org/", "https://example.org/rfc/page.html#so-it-is"),
        ("https://example.org/site", "https://example.org/site/rfc/page.html#so-it-is"),
        ("", "rfc/page.html#so-it-is"),
    ],
)
def test_permalinks_join_site_and_page(base, permalink):
    """The permalink is absolute when the site's address is known."""
    assert permalink == desk(base).permalink("rfc/page", "so-it-is")
    assert f"(parity, holds): {permalink}" in body(desk(base).issue_url(decision(), {}))


def test_one_very_long_line_is_cut_too():
    """Even a text that is one long line gives an address that works."""
    assert LONGEST_URL >= len(new_issue_url("a/b", "title", "x" * 10 * LONGEST_URL))


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("paddle#1", "https://github.com/PaddlePaddle/Paddle/issues/1"),
        ("paddle#", None),
        ("other#1", None),
        ("paddle#1x", None),
    ],
)
def test_threads_are_found_by_name(name, url):
    """A thread is a known repository and a number."""
    found = Threads({"paddle": "PaddlePaddle/Paddle"}).find(name)
    assert url == (found and found.url)
