"""Show records as tables, and draw them in colours that follow the page, light or dark."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import matplotlib.patches
from matplotlib.figure import Figure

# Verdict: sign, colour and meaning. The sign alone tells them apart.
SIGNS = {
    "same": ("✓", "#2e9e5b", "as Paddle's eager mode"),
    "right": ("✓", "#2e9e5b", "as eager mode"),
    "differs": ("✗", "#d9485f", "something else, without an error"),
    "wrong": ("✗", "#d9485f", "something else, without an error"),
    "raised": ("!", "#c98a00", "an exception"),
    "refused": ("!", "#c98a00", "an exception"),
    "died": ("†", "#9b5de5", "the process died or hung"),
    "no form": ("–", "#8a8f98", "no way to say it"),
    "not run": ("–", "#8a8f98", "not run"),
    "safer": ("✓", "#2e9e5b", "as eager mode, or right where eager mode is wrong"),
    "base-wrong": ("○", "#c98a00", "Paddle alone is wrong, without any hook"),
    "mismatch": ("✗", "#d9485f", "something else, without an error"),
    "error": ("!", "#d9485f", "an exception, or a dead process"),
    "n/a": ("–", "#8a8f98", "does not apply"),
}
# Written into the picture by matplotlib, and then replaced by the theme's own colour.
_INK = "#010203"
_THEME_INK = "var(--pst-color-text-base, CanvasText)"
_WITHIN, _EXCEEDED, _NO_BUDGET = "#2e9e5b", "#d9485f", "#8a8f98"
_CELL, _LETTER = 0.42, 0.082  # inches
_PAGE = """.text_html:has(> .grid-picture) { background: none !important; padding: 0 !important }
.grid-picture > div { overflow-x: auto }"""


@dataclass(frozen=True)
class Table:
    """A table of text; notebooks show it, other readers get its Markdown.

    Attributes:
        head: the names of the columns.
        rows: the cells of each row, in Markdown.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __repr__(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    _repr_markdown_ = __repr__


@dataclass(frozen=True)
class Grid:
    """A picture with a sign for each row and column; notebooks show SVG, other readers text.

    Attributes:
        title: what it shows.
        columns: the names of the columns.
        rows: for each row its name and its verdicts; a verdict may be "6/8 right": what stands
            before the last word is written instead of the sign.
    """

    title: str
    columns: Sequence[str]
    rows: Mapping[str, Sequence[str]]

    def __repr__(self) -> str:
        width = max(map(len, self.rows))
        lines = [f"{name:{width}}  {', '.join(marks)}" for name, marks in self.rows.items()]
        return "\n".join([self.title, f"{'':{width}}  {', '.join(self.columns)}", *lines])

    def _repr_html_(self) -> str:
        told = "; ".join(
            f"{name}: " + ", ".join(f"{c} {m}" for c, m in zip(self.columns, marks, strict=True))
            for name, marks in self.rows.items()
        )
        return _html(self._figure, self.title, told, f"{self.title}: {self._legend()}.")

    def _legend(self) -> str:
        used = {_split(mark)[1] for marks in self.rows.values() for mark in marks}
        meanings = {sign: meaning for name, (sign, _, meaning) in SIGNS.items() if name in used}
        return ", ".join(f"{sign} {meaning}" for sign, meaning in meanings.items())

    def _figure(self) -> Figure:
        left = _LETTER * max(map(len, self.rows)) + 0.1
        top = _LETTER * 0.75 * max(map(len, self.columns)) + 0.25
        across, down = len(self.columns) * _CELL, len(self.rows) * _CELL * 0.6
        figure = Figure(figsize=(left + across + 0.75 * top, top + down))
        axes = figure.add_axes(
            (
                left / (left + across + 0.75 * top),
                0,
                across / (left + across + 0.75 * top),
                down / (top + down),
            )
        )
        axes.set(xlim=(0, len(self.columns)), ylim=(len(self.rows), 0))
        axes.axis("off")
        for index, name in enumerate(self.columns):
            axes.text(index + 0.4, -0.25, name, rotation=45, color=_INK, ha="left", fontsize=9)
        for row, (name, marks) in enumerate(self.rows.items()):
            axes.text(-0.15, row + 0.5, name, color=_INK, ha="right", va="center", fontsize=9)
            for column, mark in enumerate(marks):
                text, verdict = _split(mark)
                sign, colour, _ = SIGNS[verdict]
                place = (column + 0.04, row + 0.05)
                axes.add_patch(
                    matplotlib.patches.Rectangle(place, 0.92, 0.9, color=colour, alpha=0.28)
                )
                where = {"ha": "center", "va": "center", "fontsize": 8 if text else 11}
                axes.text(column + 0.5, row + 0.5, text or sign, color=_INK, **where)
        return figure


@dataclass(frozen=True)
class Ratios:
    """A picture of ratios, each with its spread and its budget; other readers get text.

    Attributes:
        title: what it shows.
        rows: for each row its name, and (low, value, high, budget); the budget may be None.
    """

    title: str
    rows: Mapping[str, tuple[float, float, float, float | None]]

    def __repr__(self) -> str:
        return "\n".join([self.title, *self._told()])

    def _repr_html_(self) -> str:
        caption = f"{self.title}: the median, the spread, and | the budget."
        return _html(self._figure, self.title, "; ".join(self._told()), caption)

    def _told(self) -> list[str]:
        told = []
        for name, (low, value, high, budget) in self.rows.items():
            limit = "no budget" if budget is None else f"budget {budget:g}"
            missed = ", missed" if _is_missed(value, budget) else ""
            told.append(f"{name}: {value:.2f} ({low:.2f} to {high:.2f}), {limit}{missed}")
        return told

    def _figure(self) -> Figure:
        names = list(self.rows)
        left, height = _LETTER * max(map(len, names)) + 0.1, 0.32 * len(names)
        figure = Figure(figsize=(left + 4.6, height + 0.6))
        axes = figure.add_axes(
            (left / (left + 4.6), 0.4 / (height + 0.6), 3.6 / (left + 4.6), height / (height + 0.6))
        )
        for row, (low, value, high, budget) in enumerate(self.rows.values()):
            missed = _is_missed(value, budget)
            colour = _NO_BUDGET if budget is None else _EXCEEDED if missed else _WITHIN
            axes.plot([low, high], [row, row], color=colour, linewidth=6, alpha=0.4)
            axes.plot(value, row, "o", color=colour)
            text = f"  {value:.2f}{' missed' if missed else ''}"
            across = axes.get_yaxis_transform()  # x as a share of the width
            axes.text(1.0, row, text, color=_INK, va="center", fontsize=9, transform=across)
            if budget is not None:
                axes.plot([budget, budget], [row - 0.35, row + 0.35], color=_INK, linewidth=1.4)
        axes.set(ylim=(len(names) - 0.4, -0.6), yticks=range(len(names)))
        axes.set_yticklabels(names, fontsize=9)
        axes.axvline(1, color=_INK, linewidth=0.6, linestyle=":")
        axes.tick_params(colors=_INK, left=False)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color(_INK)
        return figure


def _is_missed(value: float, budget: float | None) -> bool:
    return budget is not None and value > budget


def _html(draw: Callable[[], Figure], title: str, told: str, caption: str) -> str:
    """Return a picture as HTML with a caption, and a description for those who can't see it."""
    with matplotlib.rc_context({"svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = draw()
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = file.getvalue()[file.getvalue().index("<svg") :].replace(_INK, _THEME_INK)
    width, height = figure.get_size_inches() * 72
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 {width:g} {height:g}" '
        f'style="width: 100%; min-width: {min(width, 480):g}px; max-width: {1.5 * width:g}px">'
        f"<title>{html.escape(title)}</title><desc>{html.escape(told)}</desc>"
    )
    svg = re.sub(r"<svg[^>]*>", lambda _: head, svg, count=1)
    return (
        f'<style>{_PAGE}</style><figure class="grid-picture"><div tabindex="0">'
        f"{svg}</div><figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def _split(mark: str) -> tuple[str, str]:
    """Split a mark into what is written and its verdict."""
    if mark in SIGNS:
        return "", mark
    text, _, verdict = mark.rpartition(" ")
    return text, verdict
