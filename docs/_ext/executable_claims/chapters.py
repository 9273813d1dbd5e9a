"""Read a page: its claims, its code cells, and the claims that its text mentions.

The page's text is the only source: the build and the command line see the same claims, whichever
pages Sphinx happens to read this time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from docutils.parsers.rst import Directive
from markdown_it.renderer import RendererHTML
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from myst_parser.parsers.directives import parse_directive_text
from myst_parser.parsers.mdit import create_md_parser

from .errors import ChapterError
from .model import RECORDABLE, SLUG, Cell, Claim, Kind, Message, Reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it.token import Token
    from myst_parser.config.main import MdParserConfig
    from nbformat import NotebookNode

OPTIONS = ("kind", "threads", "recorded", "untestable", "reason", "accepted")
LITERAL_DIRECTIVES = re.compile(r"\{(code|raw|math|eval-rst|mermaid|toctree|literalinclude)")
"""Directives whose content is not Markdown."""


class ClaimOptions(Directive):
    """What the Markdown parser must know of the directive to take it apart."""

    option_spec = dict.fromkeys(OPTIONS, str)
    required_arguments = 1
    optional_arguments = 0
    final_argument_whitespace = True
    has_content = True


@dataclass
class Page:
    """A page of the site.

    Attributes:
        docname: Its name in Sphinx.
        path: Its file.
        text: Its text.
        config: How its Markdown is read.
        claims: The claims that it makes.
        references: The claims that its text mentions.
        messages: What is wrong with its claims.
    """

    docname: str
    path: Path
    text: str
    config: MdParserConfig
    claims: list[Claim] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    @property
    def is_chapter(self) -> bool:
        """Whether the page holds cells to run."""
        return bool(is_myst_markdown_notebook(self.text))

    @cached_property
    def notebook(self) -> NotebookNode:
        """The page as a notebook without outputs.

        Raises:
            ChapterError: The front matter or a cell's options can't be read.
        """
        try:
            notebook: NotebookNode = read_myst_markdown_notebook(
                self.text, config=self.config, add_source_map=True, path=self.path
            )
        except Exception as error:  # the reader has no error tree of its own
            raise ChapterError(
                f"{self.path}: the page must be a MyST Markdown notebook, but reading it gave: "
                f"{error}; correct its front matter or the options of the cell"
            ) from error
        return notebook

    @cached_property
    def cells(self) -> list[Cell]:
        """The code cells of a chapter, each with its line in the page."""
        if not self.is_chapter:
            return []
        lines = self.text.splitlines()
        starts = self.notebook.metadata["source_map"]
        return [
            Cell(
                index,
                cell.source,
                _first_line(lines, start, cell.source),
                tuple(cell.metadata.get("tags", ())),
                dict(cell.metadata),
            )
            for index, (cell, start) in enumerate(zip(self.notebook.cells, starts, strict=True))
            if cell.cell_type == "code"
        ]


def read_page(docname: str, path: Path, config: MdParserConfig) -> Page:
    """Read the page ``docname`` from its file.

    Args:
        docname: Name of the page in Sphinx.
        path: Its file.
        config: How Markdown is read in the project.

    Returns:
        The page with its claims and what is wrong with them.

    Raises:
        ChapterError: It says that it is a notebook, but can't be read as one.
    """
    page = Page(docname, path, path.read_text(encoding="utf-8"), config)
    parser = create_md_parser(config, RendererHTML)
    _collect(page, parser.parse(page.text), parser, offset=0, nested=False)
    _ = page.cells  # read now, so that a mistake in them ends the build before anything runs
    return page


def _collect(page: Page, tokens: Iterable[Token], parser: Any, offset: int, nested: bool) -> None:
    depth = 0
    for token in tokens:
        depth += token.nesting
        line = offset + (token.map[0] if token.map else 0) + 1
        if token.type == "inline":
            page.references += _mentions(page.docname, token, offset)
        elif token.type in ("fence", "colon_fence") and token.info.startswith("{"):
            inside = token.content
            if re.match(r"\{claim\}", token.info):
                _add_claim(page, token, line, nested or depth > 0)
            elif LITERAL_DIRECTIVES.match(token.info):
                continue
            _collect(page, parser.parse(inside), parser, line, nested=True)


def _mentions(docname: str, token: Token, offset: int) -> Iterator[Reference]:
    first = token.map[0] if token.map else 0
    texts = token.content.splitlines()
    for child in token.children or ():
        if child.type == "myst_role" and child.meta.get("name") == "claim":
            slug = re.sub(r".*<(.*)>", r"\1", child.content)
            line = next((n for n, text in enumerate(texts) if child.content in text), 0)
            yield Reference(slug, docname, offset + first + line + 1)


def _add_claim(page: Page, token: Token, line: int, nested: bool) -> None:
    if nested:
        page.messages.append(
            Message(
                "misplaced",
                page.docname,
                line,
                f"{token.info} must stand at the top level of its page, but got it inside "
                "another block; move it out, next to the cell that decides it",
            )
        )
        return
    first_line = token.info[len("{claim}") :].strip()
    parsed = parse_directive_text(ClaimOptions, first_line, token.content, validate_options=False)
    options = {key: str(value or "").strip() for key, value in parsed.options.items()}
    sentence = " ".join(" ".join(parsed.body).split())
    faults = list(_faults(first_line, options, sentence))
    faults += [warning.msg for warning in parsed.warnings]
    if faults:
        page.messages += [Message("malformed", page.docname, line, fault) for fault in faults]
        return
    threads = tuple(part.strip() for part in options.get("threads", "").split(",") if part.strip())
    accepted, _, accepted_digest = options.get("accepted", "").partition(" ")
    page.claims.append(
        Claim(
            slug=first_line,
            kind=Kind(options["kind"]),
            sentence=sentence,
            docname=page.docname,
            line=line,
            threads=threads,
            recorded=options.get("recorded", ""),
            untestable=options.get("untestable", ""),
            reason=options.get("reason", ""),
            accepted=accepted,
            accepted_digest=accepted_digest.strip(),
        )
    )


def _faults(slug: str, options: dict[str, str], sentence: str) -> Iterator[str]:
    """Say what is wrong with a claim directive."""
    kinds = [kind.value for kind in Kind]
    if not SLUG.fullmatch(slug):
        yield (
            f"the slug of a claim must be lower-case words joined by hyphens, but got {slug!r}; "
            "write it after {claim}"
        )
    if options.get("kind") not in kinds:
        yield (
            f"the kind of claim {slug} must be one of {', '.join(kinds)}, but got "
            f"{options.get('kind')!r}; write it as the option :kind:"
        )
    for name in sorted(set(options) - set(OPTIONS)):
        yield (
            f"the options of claim {slug} must be among {', '.join(OPTIONS)}, but got {name!r}; "
            "remove it"
        )
    if not sentence:
        yield f"claim {slug} must state a sentence, but got none; write it as the body"
    yield from _exemption_faults(slug, options)
    yield from _acceptance_faults(slug, options)


def _exemption_faults(slug: str, options: dict[str, str]) -> Iterator[str]:
    """Say what is wrong with a claim that no cell decides."""
    exemptions = [name for name in ("recorded", "untestable") if name in options]
    if len(exemptions) == 2:
        yield (f"claim {slug} must be :recorded: or :untestable:, but got both; remove one")
    if not exemptions and "reason" in options:
        yield (
            f"claim {slug} must have a :reason: only with :recorded: or :untestable:, but got it "
            "alone; remove it or give the date"
        )
    for name in exemptions:
        try:
            date.fromisoformat(options[name])
        except ValueError:
            yield (
                f":{name}: of claim {slug} must be a date such as 2025-01-31, but got "
                f"{options[name]!r}; write the day on which it was found"
            )
        if not options.get("reason"):
            yield (
                f"{name} claim {slug} must say why no cell decides it, but got no :reason:; "
                "write the reason"
            )
    if "recorded" in options and options.get("kind") not in {kind.value for kind in RECORDABLE}:
        yield (
            f"claim {slug} must be of kind peer or performance to be recorded, but got "
            f"{options.get('kind')!r}; decide it by a cell"
        )


def _acceptance_faults(slug: str, options: dict[str, str]) -> Iterator[str]:
    accepted = options.get("accepted")
    if accepted is not None and not re.fullmatch(r"[\w-]+#\d+ +[0-9a-f]{8}", accepted):
        yield (
            f":accepted: of claim {slug} must be a thread and the digest of the sentence, such as "
            f"paddle#1 0123abcd, but got {accepted!r}; `python -m executable_claims explain "
            f"{slug}` prints the digest"
        )


def _first_line(lines: list[str], start: int, source: str) -> int:
    """Return the line, counted from 1, on which the code of a cell starts in its page.

    The notebook knows only where the fence opens; options of any form may stand in between.
    """
    wanted = source.splitlines()
    for index in range(start, len(lines)):
        if wanted and lines[index : index + len(wanted)] == wanted:
            return index + 1
    return start + 1


def digest_metadata(cell: Cell) -> str:
    """Return the options of a cell in a form that does not depend on their order."""
    return yaml.safe_dump(cell.options, sort_keys=True)
