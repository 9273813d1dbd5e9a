"""Links from a claim to where it is discussed: known threads, and a new issue filled in already."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import yaml

from .errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .model import Decision

PROMPT = "(Write here what you think about it.)"
CUT = "… (cut; the page has all of it)"
LONGEST_URL = 6000
"""GitHub refuses addresses of more than about 8,000 characters; browsers and proxies vary."""


@dataclass(frozen=True)
class Thread:
    """A public discussion.

    Attributes:
        name: How pages refer to it, such as ``paddle#48234``.
        url: Its address.
        title: What it is about.
    """

    name: str
    url: str
    title: str


@dataclass(frozen=True)
class Question:
    """Something that a reader asked in a public thread.

    Attributes:
        text: The question, in our words.
        thread: Name of the thread.
        claim: The claim that answers it, or nothing.
        page: The page that answers it, or nothing. A question with neither is open.
    """

    text: str
    thread: str
    claim: str = ""
    page: str = ""


@dataclass(frozen=True)
class Threads:
    """The public threads that a project knows, and what was asked there.

    They come from a data file of the project:

        repositories: {paddle: PaddlePaddle/Paddle}
        threads:
          paddle#48234: What it is about
        questions:
          - text: Why is it so?
            thread: paddle#48234
            claim: it-is-so

    Attributes:
        repositories: ``owner/name`` of each repository by its short name.
        titles: Titles of threads by name.
        questions: What was asked.
    """

    repositories: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()

    @classmethod
    def load(cls, path: Path) -> Threads:
        """Read the data file.

        Raises:
            ConfigurationError: The file does not have the form described above.
        """
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
            questions = tuple(Question(**question) for question in data.get("questions") or ())
            return cls(dict(data["repositories"]), dict(data["threads"]), questions)
        except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(
                f"{path.name} must map `repositories`, `threads` and `questions`, but reading it "
                f"gave {type(error).__name__}: {error}; correct the file"
            ) from error

    def find(self, name: str) -> Thread | None:
        """Return the thread called ``name``, or None when its repository is not known."""
        match = re.fullmatch(r"([\w-]+)#(\d+)", name)
        if not match or match[1] not in self.repositories:
            return None
        # GitHub sends an issue's address on to the pull request of that number.
        url = f"https://github.com/{self.repositories[match[1]]}/issues/{match[2]}"
        return Thread(name, url, self.titles.get(name, ""))


@dataclass(frozen=True)
class Desk:
    """Makes the links of a build.

    Attributes:
        repository: ``owner/name`` on GitHub for new issues; empty for none.
        command: The command that reproduces a claim, with ``{slug}`` for the claim.
        commit: Commit of the sources; empty when it is not known.
        base: Address of the site; empty when it is not known.
        address: Gives the address of a page relative to the site's.
        threads: The known threads.
    """

    repository: str
    command: str
    commit: str
    base: str
    address: Callable[[str], str]
    threads: Threads

    def permalink(self, docname: str, anchor: str) -> str:
        """Return the address of a place in a page."""
        base = f"{self.base.rstrip('/')}/" if self.base else ""
        return f"{base}{self.address(docname)}#{anchor}"

    def reproduce(self, slug: str) -> str:
        """Return the command that reproduces a claim."""
        return self.command.format(slug=slug)

    def issue_url(self, decision: Decision, versions: Mapping[str, str]) -> str:
        """Return the address that opens a new issue about a claim."""
        claim = decision.claim
        permalink = self.permalink(claim.docname, claim.slug)
        command = self.reproduce(claim.slug)
        body = issue_body(decision, permalink, command, self.commit, versions)
        return new_issue_url(self.repository, f"[{claim.slug}] {claim.sentence}", body)

    def section_issue_url(self, docname: str, anchor: str, title: str) -> str:
        """Return the address that opens a new issue about a section of a page."""
        lines = [
            f"Section: {self.permalink(docname, anchor)}",
            *([f"Commit: {self.commit}"] if self.commit else []),
            "",
            PROMPT,
        ]
        return new_issue_url(self.repository, f"[{docname}] {title}", "\n".join(lines))


def new_issue_url(repository: str, title: str, body: str) -> str:
    """Return the address that opens a new issue on GitHub, filled in.

    Args:
        repository: ``owner/name``.
        title: Title of the issue.
        body: Its text in Markdown. What would make the address too long is cut before the last
            line, which closes the evidence.
    """
    *lines, last = body.splitlines()
    url = _issue_url(repository, title, body)
    while len(url) > LONGEST_URL and lines:
        lines.pop()
        url = _issue_url(repository, title, "\n".join([*lines, CUT, last]))
    return url if len(url) <= LONGEST_URL else _issue_url(repository, title[:200], CUT)


def _issue_url(repository: str, title: str, body: str) -> str:
    query = urlencode({"title": title, "body": body}, quote_via=quote)
    return f"https://github.com/{repository}/issues/new?{query}"


def issue_body(
    decision: Decision, permalink: str, command: str, commit: str, versions: Mapping[str, str]
) -> str:
    """Return the text of a new issue about a claim: what was claimed, and what was observed."""
    claim, evidence = decision.claim, decision.evidence
    lines = [
        f"> {claim.sentence}",
        "",
        f"Claim `{claim.slug}` ({claim.kind.value}, {decision.verdict.value}): {permalink}",
        f"Reproduce: `{command}`",
        f"Versions: {', '.join(f'{name} {version}' for name, version in versions.items())}",
        *([f"Commit: {commit}"] if commit else []),
        "",
        PROMPT,
        "",
        "Observed when the page was built:",
        "",
        "```text",
    ]
    for check in evidence.checks if evidence else ():
        state = "passed" if check.passed else "FAILED"
        lines.append(
            f"{state}: {_one_line(check.what)}: expected {_one_line(check.expected)}, "
            f"got {_one_line(check.got)}"
        )
    for row in evidence.rows if evidence else ():
        parts = map(_one_line, (row.what, row.eager, row.static, row.difference or "same"))
        lines.append("{}: eager {}, static {}: {}".format(*parts))
    return "\n".join([*lines, "```"])


def _one_line(text: str) -> str:
    """Return text for a fenced block: on one line, short, and unable to close the fence."""
    flat = " ".join(text.split()).replace("```", "'''")
    return flat if len(flat) <= 200 else flat[:199] + "…"
