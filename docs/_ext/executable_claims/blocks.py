"""Find the blocks of cells that decide claims, in the text of the cells."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from .model import Cell

BLOCK = re.compile(r"""\bclaim\(\s*(?:(["'])(?P<slug>[^"']*)\1|(?P<computed>[^"'\s)]))""")
"""The beginning of a block, with its slug or with what computes it."""


def deciding_cells(cells: Iterable[Cell], slug: str) -> list[Cell]:
    """Return the cells that hold the block of a claim."""
    return [cell for cell in cells if slug in slugs_in(cell)]


def slugs_in(cell: Cell) -> list[str]:
    """Return the claims that a cell decides, as far as its text names them."""
    return [match["slug"] for match in BLOCK.finditer(cell.source) if match["slug"] is not None]


def cells_up_to(cells: Sequence[Cell], slug: str) -> tuple[Cell, ...]:
    """Return the cells that deciding a claim takes: all until the last that holds its block."""
    deciding = deciding_cells(cells, slug)
    return tuple(cell for cell in cells if not deciding or cell.index <= deciding[-1].index)


def cells_for(cells: Sequence[Cell], slugs: Container[str]) -> tuple[Cell, ...]:
    """Return the cells that deciding some claims takes, without the blocks of all others."""
    deciding = [cell.index for cell in cells if any(slug in slugs for slug in slugs_in(cell))]
    last = max(deciding, default=cells[-1].index)
    return tuple(_with_blocks_of(cell, slugs) for cell in cells if cell.index <= last)


def _with_blocks_of(cell: Cell, slugs: Container[str]) -> Cell:
    """Take the blocks of other claims out of a cell; what is left stays on its lines."""
    try:
        statements = ast.parse(cell.source).body
    except SyntaxError:  # a magic command: the cell is kept as it is
        return cell
    lines = cell.source.splitlines()
    for statement in statements:
        decided = _decided(statement)
        if decided and decided not in slugs and statement.end_lineno:
            length = statement.end_lineno - statement.lineno
            lines[statement.lineno - 1 : statement.end_lineno] = ["pass", *[""] * length]
    return replace(cell, source="\n".join(lines))


def _decided(statement: ast.stmt) -> str | None:
    """Return the claim that a statement decides, if it is a block."""
    if not isinstance(statement, ast.With):
        return None
    match = BLOCK.match(ast.unparse(statement.items[0].context_expr))
    return match["slug"] if match else None
