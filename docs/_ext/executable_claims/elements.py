"""Pieces of pages: the nodes of this extension, how HTML shows them, and tables."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sphinx.application import Sphinx


class ClaimCard(nodes.General, nodes.Element):
    """A claim in its page: at first the sentence alone, the rest when the page is written."""


class Folded(nodes.General, nodes.Element):
    """Content that a reader unfolds. Its attribute ``summary`` is always visible."""


def add_nodes(app: Sphinx) -> None:
    """Add the nodes; outside of HTML their content is plain text and tables."""
    plain: Any = dict.fromkeys(("latex", "text", "man", "texinfo"), (_nothing, _nothing))
    app.add_node(ClaimCard, html=(_open_card, _close_card), **plain)
    app.add_node(Folded, html=(_open_folded, _close_folded), **plain)


def _nothing(translator: Any, node: nodes.Element) -> None:
    pass


def _open_card(translator: Any, node: nodes.Element) -> None:
    classes = " ".join(["claim", *node["classes"]])
    attributes = {"class": classes, "id": node["ids"][0], "aria-label": node["slug"]}
    translator.body.append(tag("article", **attributes))


def _close_card(translator: Any, node: nodes.Element) -> None:
    translator.body.append("</article>\n")


def _open_folded(translator: Any, node: nodes.Element) -> None:
    summary = f"<summary>{escape(node['summary'])}</summary>"
    translator.body.append(tag("details", **{"class": "claim-evidence"}) + summary)


def _close_folded(translator: Any, node: nodes.Element) -> None:
    translator.body.append("</details>\n")


def tag(name: str, **attributes: str) -> str:
    """Return the opening tag of an HTML element."""
    parts = [f'{key}="{escape(value, quote=True)}"' for key, value in attributes.items()]
    return f"<{' '.join([name, *parts])}>"


def html(text: str) -> nodes.raw:
    """Return markup that only HTML pages have."""
    return nodes.raw("", text, format="html")


def paragraph(*parts: nodes.Node | str, name: str = "") -> nodes.paragraph:
    """Return a paragraph of nodes and texts."""
    children = [nodes.Text(part) if isinstance(part, str) else part for part in parts]
    return nodes.paragraph("", "", *children, classes=[name] if name else [])


def table(
    head: Sequence[str], rows: Iterable[nodes.row], name: str, widths: Sequence[int] = ()
) -> nodes.table:
    """Return a table.

    Args:
        head: Titles of the columns.
        rows: Its rows; see :func:`row`.
        name: Its class in HTML.
        widths: Widths of the columns in characters, for plain text and paper.
    """
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=width) for width in widths or [24] * len(head)]
    group += nodes.thead("", row(*head))
    group += nodes.tbody("", *rows)
    return nodes.table("", group, classes=[name])


def row(*cells: nodes.Node | str, name: str = "") -> nodes.row:
    """Return a row of a table, of texts or of nodes."""
    entries = [
        nodes.entry("", nodes.paragraph("", cell) if isinstance(cell, str) else cell)
        for cell in cells
    ]
    return nodes.row("", *entries, classes=[name] if name else [])


def value(text: str) -> nodes.paragraph:
    """Return a cell with a value as a program prints it."""
    return nodes.paragraph("", "", nodes.literal("", text))
