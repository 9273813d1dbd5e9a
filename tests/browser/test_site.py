"""What a reader does on the site, in a real browser."""

from __future__ import annotations

import urllib.parse
from collections import Counter

import pytest

pytestmark = pytest.mark.browser

INDEX = "docs/reference/claims.html"
MATRIX = "docs/reference/falsification.html"
PAGES = ("index.html", "rfc/firing.html", "rfc/errors.html", INDEX, MATRIX)

VISIBLE = """[...document.querySelectorAll("table.claim-index tbody tr")]
    .filter((row) => row.offsetParent).map((row) => row.cells[0].querySelector("a").textContent)"""

# Contrast as the Web Content Accessibility Guidelines define it: 4.5 is readable by most people.
CONTRAST = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] > 200) return colour;
    }
    return [255, 255, 255, 255];
  };
  const light = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const low = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || !element.offsetParent) continue;
    // Pictures and code have colours of their own; the mark of a heading only repeats a link.
    if (element.closest("svg, .highlight, .headerlink")) continue;
    const [a, b] = [rgba(getComputedStyle(element).color), ground(element)].map(light);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5)
      low.push(`${ratio.toFixed(2)} ${element.tagName}.${element.className}: ` +
        node.textContent.trim().slice(0, 40));
  }
  return [...new Set(low)].slice(0, 20);
})()
"""


def choose(page, label, value):
    """Choose a value in a field of the filter, as a reader does."""
    assert page.run(f"""(() => {{
        const labels = [...document.querySelectorAll("form.claim-filter label")];
        const label = labels.find((label) => label.firstChild.textContent === {label!r});
        const field = label.querySelector("select, input");
        field.value = {value!r};
        field.dispatchEvent(new Event("input", {{ bubbles: true }}));
        return field.value === {value!r};
    }})()""")


@pytest.mark.parametrize(
    ("label", "key", "value"), [("Kind", "kind", "safer"), ("Verdict", "verdict", "holds")]
)
def test_the_list_of_claims_is_filtered_by_a_choice(page, origin, claims, label, key, value):
    """Choosing a kind or a verdict leaves the claims that have it, and says how many."""
    page.open(origin + INDEX)
    assert [claim["slug"] for claim in claims] == page.run(VISIBLE)
    choose(page, label, value)
    wanted = [claim["slug"] for claim in claims if claim[key] == value]
    assert wanted == page.run(VISIBLE)
    count = page.run("document.querySelector('form.claim-filter output').textContent")
    assert f"{len(wanted)} / {len(claims)}" == count
    choose(page, label, "")
    assert len(claims) == len(page.run(VISIBLE))


def test_the_list_of_claims_is_filtered_by_chapter_and_text(page, origin, claims):
    """A chapter and a text together leave the claims that fit both."""
    page.open(origin + INDEX)
    title = page.run(
        """[...document.querySelectorAll("table.claim-index tbody tr")]
            .find((row) => row.cells[0].querySelector("a").textContent === "bad-return")
            .cells[3].textContent.trim()"""
    )
    choose(page, "Chapter", title)
    in_chapter = [claim["slug"] for claim in claims if claim["docname"] == "rfc/errors"]
    assert in_chapter == page.run(VISIBLE)
    choose(page, "Search", "BAD-RETURN")
    assert ["bad-return"] == page.run(VISIBLE)


def test_the_totals_are_those_of_the_data_file(page, origin, claims):
    """Above the list stands how many claims there are of each verdict."""
    page.open(origin + INDEX)
    total = page.run("document.querySelector('form.claim-filter').previousElementSibling.innerText")
    assert total.startswith(f"{len(claims)} claims")
    for verdict, count in Counter(claim["verdict"] for claim in claims).items():
        assert f"{count} {verdict}" in total


def test_reproduce_copies_the_command(page, origin):
    """The button of a card puts the one command into the clipboard and says that it did."""
    page.open(f"{origin}rfc/errors.html#bad-return")
    page.allow("clipboardReadWrite", "clipboardSanitizedWrite")
    said = page.run(
        """(async () => {
            const button = document.querySelector("#bad-return button.claim-copy");
            button.click();
            await new Promise((resolve) => setTimeout(resolve, 200));
            return [await navigator.clipboard.readText(), button.textContent];
        })()"""
    )
    assert ["make claim ID=bad-return", "Copied"] == said


def test_discuss_opens_a_filled_in_issue(page, origin):
    """The link of a card goes to the form for a new issue that names the claim and its evidence."""
    page.open(f"{origin}rfc/errors.html#bad-return")
    link = page.run(
        """[...document.querySelectorAll("#bad-return a")]
            .find((link) => link.textContent === "Discuss").href"""
    )
    address = urllib.parse.urlsplit(link)
    fields = urllib.parse.parse_qs(address.query, strict_parsing=True)
    assert ("https", "github.com") == (address.scheme, address.netloc)
    assert address.path.endswith("/issues/new")
    assert "bad-return" in fields["title"][0]
    assert "bad-return" in fields["body"][0]
    assert "paddle" in fields["body"][0]
    assert len(link) < 8000


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_text_is_readable(page, origin, name, scheme):
    """In the light and in the dark theme, all text has the contrast that readers need."""
    page.open(origin + name, scheme=scheme)
    assert scheme == page.run("document.documentElement.dataset.theme")
    page.run("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert [] == page.run(CONTRAST)


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_need_not_scroll_sideways(page, origin, name):
    """On a window of 390 pixels nothing is wider than the window, evidence unfolded included."""
    page.open(origin + name, width=390)
    page.run("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert 390 == page.run("document.documentElement.scrollWidth")


@pytest.mark.parametrize("name", PAGES)
def test_reading_needs_no_other_server(page, origin, name):
    """A page asks for nothing from elsewhere, and nothing that it asks for is missing."""
    page.open(origin + name)
    assert [] == [
        address for address in page.requested if not address.startswith((origin, "data:", "blob:"))
    ]
    assert [] == page.problems


def test_a_keyboard_reaches_the_evidence(page, origin):
    """The evidence of a claim opens by the keyboard alone."""
    page.open(f"{origin}rfc/errors.html#bad-return")
    opened = page.run(
        """(() => {
            const summary = document.querySelector("#bad-return details > summary");
            summary.focus();
            summary.click();
            return [document.activeElement === summary, summary.parentElement.open];
        })()"""
    )
    assert [True, True] == opened
