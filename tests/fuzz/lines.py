"""A program as data: a tree of lines of Python.

A generated module is a list of lines, some of which head a block. So it can be printed, taken
apart by a shrinker that knows nothing of hooks, and robbed of its hooks to see what Paddle does
without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Line:
    """One line, with the block that it heads.

    Attributes:
        text: the line, without indentation.
        body: the block under it; an empty block is printed as `pass`.
        is_hook: whether the line exists for a hook alone; the unhooked twin lacks it.
        simpler: other texts that mean less, for the shrinker to try.
    """

    text: str
    body: tuple[Line, ...] = ()
    is_hook: bool = False
    simpler: tuple[str, ...] = ()

    @property
    def is_block(self) -> bool:
        """Whether the line heads a block."""
        return self.text.endswith(":")

    @property
    def is_flow(self) -> bool:
        """Whether the body could stand in the line's place."""
        return self.is_block and self.text.startswith(("for ", "if ", "while "))


Program = tuple[Line, ...]


def line(text: str, *body: Line, simpler: Sequence[str] = ()) -> Line:
    """Make a line of the program itself."""
    return Line(text, body, simpler=tuple(simpler))


def hook_line(text: str, *body: Line, simpler: Sequence[str] = ()) -> Line:
    """Make a line that exists for a hook alone."""
    return Line(text, body, is_hook=True, simpler=tuple(simpler))


def without_hooks(program: Iterable[Line]) -> Program:
    """Return the unhooked twin of a program."""
    kept = (item for item in program if not item.is_hook)
    return tuple(replace(item, body=without_hooks(item.body)) for item in kept)


def source_of(program: Iterable[Line], indent: int = 0) -> str:
    """Print a program."""
    text = ""
    for item in program:
        text += f"{'    ' * indent}{item.text}\n"
        if item.is_block:
            text += source_of(item.body or (Line("pass"),), indent + 1)
    return text


def count(program: Iterable[Line]) -> int:
    """Count the lines of a program."""
    return sum(1 + count(item.body) for item in program)
