"""What readers see: cards, lists, maps, downloads, in every output format and both languages."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from bs4 import BeautifulSoup


@pytest.fixture(scope="module")
def rich(build_once):
    """Return the build of the project that uses everything."""
    build = build_once("rich")
    assert ([], 0) == (build.warnings, build.code)
    return build


def page(build, name):
    """Return a page as a tree."""
    return BeautifulSoup(build.page(name), "html.parser")


def words(element):
    """Return the text of an element on one line."""
    return " ".join(element.get_text(" ").split())


def table(element):
    """Return the texts of a table's cells by row."""
    return [[words(cell) for cell in row.find_all(["th", "td"])] for row in element.find_all("tr")]


def card(build, slug):
    """Return the card of a claim."""
    return next(c for c in page(build, "sums").find_all("article") if c["id"] == slug)


def test_a_card_says_what_was_claimed_and_found(rich):
    """A card has verdict, kind, name, permalink, sentence, versions, checks, time and state."""
    found = card(rich, "sum-of-two")
    assert ["claim", "claim-holds", "claim-kind-parity"] == found["class"]
    assert "holds parity sum-of-two #" == words(found.find(class_="claim-head"))
    assert "#sum-of-two" == found.find(class_="headerlink")["href"]
    assert "The sum of 2 and three is 5 < 6 & no more." == words(
        found.find(class_="claim-sentence")
    )
    facts = words(found.find(class_="claim-facts"))
    assert re.fullmatch(r"sphinx [\d.]+ · 2 checks · \d\.\d\d s · accepted in example#1", facts), (
        facts
    )


def test_an_edited_sentence_is_proposed_again(rich):
    """An acceptance of other words does not count, and the card says so."""
    facts = words(card(rich, "double-is-sum").find(class_="claim-facts"))
    assert facts.endswith("· proposed (wording changed since example#1)")


def test_evidence_is_folded_and_a_table(rich):
    """The evidence is closed at first, and has the comparison and the checks as tables."""
    evidence = card(rich, "sum-of-two").find("details")
    assert "open" not in evidence.attrs
    assert "Evidence" == evidence.summary.get_text()
    comparison, checks = evidence.find_all("table")
    assert [["Quantity", "Eager", "Static", "Difference"], ["total", "5", "5", "none"]] == table(
        comparison
    )
    assert [
        ["Check", "Expected", "Got", "Result"],
        ["eager and static agree", "no difference", "1 quantities, no difference", "passed"],
        ["a | b and ```more```", "5", "5", "passed"],
    ] == table(checks)
    assert 4 == len(checks.thead.find_all("th"))


def test_a_card_offers_to_reproduce(rich):
    """The one command is shown, and a button that the script enables copies it."""
    actions = card(rich, "sum-of-two").find(class_="claim-actions")
    assert "make claim ID=sum-of-two" == words(actions.code)
    assert "make claim ID=sum-of-two" == actions.button["data-copy"]
    assert "hidden" in actions.button.attrs


def test_a_card_offers_to_discuss(rich):
    """The new issue has title, permalink, versions and evidence; known threads are linked."""
    discuss, thread = card(rich, "sum-of-two").find(class_="claim-actions").find_all("a")
    parts = urlsplit(discuss["href"])
    assert ("https", "github.com", "/example/discussion/issues/new") == parts[:3]
    filled = parse_qs(parts.query, strict_parsing=True)
    assert ["[sum-of-two] The sum of `2` and *three* is 5 < 6 & no more."] == filled["title"]
    (body,) = filled["body"]
    assert "https://example.org/site/sums.html#sum-of-two" in body
    assert re.search(r"^Versions: python [\d.]+, sphinx [\d.]+$", body, re.MULTILINE)
    assert "passed: a | b and '''more''': expected 5, got 5\n" in body
    assert "total: eager 5, static 5: same" in body
    assert 2 == body.count("```")
    assert ("https://github.com/example/project/issues/1", "Why sums?", "example#1") == (
        thread["href"],
        thread["title"],
        thread.get_text(),
    )


def test_claims_that_no_cell_decides_say_why(rich):
    """A recorded and an untestable claim show their day and their reason."""
    recorded, untestable = page(rich, "other").find_all("article")
    assert "recorded peer others-do-the-same #" == words(recorded.find(class_="claim-head"))
    assert "recorded 2025-01-31 · proposed" == words(recorded.find(class_="claim-facts"))
    assert "untestable since 2025-02-28 · proposed" == words(untestable.find(class_="claim-facts"))
    assert "Why no cell decides it: Fun is not measured here." in words(untestable)


def test_a_mention_shows_the_slug_or_the_authors_words(rich):
    """A mentioned claim is a link: its slug as code, other words as words."""
    paragraph = page(rich, "other").find("article").find_next_siblings("p")[-1]
    slug, own_words = paragraph.find_all("a")
    assert slug["href"] == own_words["href"] == "sums.html#sum-of-two"
    assert ("sum-of-two", "the sum") == (slug.code.get_text(), own_words.get_text())
    assert own_words.code is None


def test_sections_can_be_discussed(rich):
    """Each section of a chapter has a link to an issue about it; other pages have none."""
    links = page(rich, "sums").find_all("a", class_="claim-discuss-section")
    assert ["Discuss this section: Sums", "Discuss this section: Doubles"] == [
        link["title"] for link in links
    ]
    filled = parse_qs(urlsplit(links[1]["href"]).query)
    assert ["[sums] Doubles"] == filled["title"]
    assert "Section: https://example.org/site/sums.html#doubles\n" in filled["body"][0]
    assert [] == page(rich, "claims").find_all("a", class_="claim-discuss-section")


def test_the_list_has_every_claim_in_reading_order(rich):
    """The list is a table that needs no script, with links, kinds, verdicts and chapters."""
    found = page(rich, "claims").find("table", class_="claim-index")
    head, *rows = table(found)
    assert ["Claim", "Kind", "Verdict", "Chapter"] == head
    assert [
        ["sum-of-two", "parity", "holds", "Sums"],
        ["double-is-sum", "limit", "holds", "Sums"],
        ["add-exists", "safer", "holds", "Sums"],
        ["others-do-the-same", "peer", "recorded", "Other"],
        ["sums-are-fun", "limit", "untestable", "Other"],
    ] == [[row[0].split()[0], *row[1:]] for row in rows]
    assert "sums.html#sum-of-two" == found.tbody.a["href"]
    assert "see sum-of-two ." in rows[1][0], "a sentence keeps its links"


def test_the_filter_is_there_for_the_script(rich):
    """The form names what can be chosen, and is hidden where no script shows it."""
    form = page(rich, "claims").find("form", class_="claim-filter")
    assert "hidden" in form.attrs
    assert [
        ["all", "parity", "limit", "safer", "peer"],
        ["all", "holds", "recorded", "untestable"],
        ["all", "Sums", "Other"],
    ] == [[words(option) for option in choice.find_all("option")] for choice in form("select")]
    assert "5 claims: 3 holds, 1 recorded, 1 untestable." in words(page(rich, "claims"))


def test_the_map_answers_what_was_asked(rich):
    """Each question has its thread and what answers it, or is open."""
    found = page(rich, "claims").find("table", class_="claim-discussions")
    assert [
        ["Question", "Thread", "Answer"],
        ["Is two and three five?", "example#1", "sum-of-two (holds)"],
        ["Where is it explained?", "example#1", "Sums"],
        ["What about subtraction?", "example#2", "open"],
    ] == table(found)
    assert "sums.html" in [link["href"] for link in found.find_all("a")]


def test_the_download_is_the_executed_notebook(rich):
    """The notebook that a chapter offers holds the outputs of this build."""
    (link,) = page(rich, "sums").find("p", class_="claim-download").find_all("a")
    notebook = json.loads((rich.html / link["href"]).read_text(encoding="utf-8"))
    counts = [cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [1, 2, 3] == counts


@pytest.mark.parametrize("project", ["rich"], indirect=True)
def test_pages_need_nothing_from_elsewhere(rich, project):
    """What the extension adds to a page is served with it: no font, script or image from afar."""
    for name in ("sums", "claims"):
        for element in page(rich, name).find_all(["script", "link", "img"]):
            source = element.get("src") or element.get("href") or ""
            assert not source.startswith(("http:", "https:", "//")) or "canonical" in element.get(
                "rel", []
            )


@pytest.mark.parametrize("project", ["rich"], indirect=True)
@pytest.mark.parametrize("builder", ["text", "latex", "man", "texinfo", "epub", "gettext"])
def test_other_formats_have_the_claims_too(project, builder):
    """A claim can be printed: sentence, verdict and evidence are in every format."""
    build = project.build(builder, epub_show_urls="no", version="1", copyright="nobody")
    assert ([], 0) == (build.warnings, build.code)
    if builder == "text":
        text = (build.html / "sums.txt").read_text(encoding="utf-8")
        assert "holds parity" in text
        assert 'The sum of "2" and *three* is 5 < 6 & no more.' in text
        assert "a | b" in text
    if builder == "gettext":
        catalogue = (build.html / "sums.pot").read_text(encoding="utf-8")
        assert "The sum of `2` and *three* is 5 < 6 & no more." in catalogue
        assert "arithmetic.add" not in catalogue


@pytest.mark.parametrize("project", ["rich"], indirect=True)
def test_another_language_runs_nothing_and_is_translated(project):
    """A translated build uses the results of the first and has sentences and labels translated."""
    project.build()
    catalogue = project.root / "locale/zh_CN/LC_MESSAGES/sums.po"
    catalogue.parent.mkdir(parents=True)
    catalogue.write_text(
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
        'msgid "There is a function that adds."\nmsgstr "有一个做加法的函数。"\n',
        encoding="utf-8",
    )
    build = project.build(language="zh_CN")
    assert ([], [], 0) == (build.ran, build.warnings, build.code)
    found = card(build, "add-exists")
    assert "有一个做加法的函数。" == words(found.find(class_="claim-sentence"))
    assert "成立 更安全 add-exists #" == words(found.find(class_="claim-head"))
    assert "有一个做加法的函数。" in words(page(build, "claims"))


@pytest.mark.parametrize("project", ["rich"], indirect=True)
def test_a_new_verdict_reaches_every_page_that_shows_it(project):
    """When a claim regresses, the list and the map of questions change without being edited."""
    project.build()
    project.edit("arithmetic/__init__.py", "a + b", "a - b")
    build = project.build()
    lists = page(build, "claims")
    assert "sum-of-two regressed" in " ".join(
        f"{row[0].split()[0]} {row[2]}" for row in table(lists.find("table", class_="claim-index"))
    )
    assert "sum-of-two (regressed)" in words(lists.find("table", class_="claim-discussions"))
    found = card(build, "sum-of-two")
    assert ["total", "5", "-1", "total differs"] == table(found.find("table"))[1]
