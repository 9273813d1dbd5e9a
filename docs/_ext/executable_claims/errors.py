"""The errors of this package.

    ClaimsError
    ├── ConfigurationError   a setting in conf.py is wrong (the author of the project)
    ├── ChapterError         a chapter can't be read as a notebook (the author of the chapter)
    ├── EvidenceError        an evidence cell misuses ``claim`` (the author of the cell)
    ├── UnknownNameError     a claim or a mutant that does not exist was asked for (the reader)
    ├── UnreadableFileError  a file that was given is not what it must be (the reader)
    └── ExecutionError       the process that runs the cells failed itself (cannot happen)

Each says who was wrong, what must be, what was got and how to proceed.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class ClaimsError(Exception):
    """Base of every error that this package raises on purpose."""


class ConfigurationError(ClaimsError):
    """A setting of the extension has a value that it can't have."""


class ChapterError(ClaimsError):
    """A page says that it is a notebook, but can't be read as one."""


class EvidenceError(ClaimsError):
    """An evidence cell uses ``claim`` in a way that decides nothing."""


class ExecutionError(ClaimsError):
    """The launcher of the chapters died or answered nonsense."""


class UnreadableFileError(ClaimsError):
    """A file that was given can't be read as what it must be."""


class UnknownNameError(ClaimsError):
    """A name was asked for that does not exist.

    Attributes:
        name: The name asked for.
        matches: Existing names that look like it, the closest first.
    """

    def __init__(self, what: str, name: str, known: Iterable[str], list_with: str) -> None:
        self.name = name
        self.matches = close_names(name, known)
        super().__init__(
            f"{what} must exist, but got {name!r}; {suggestion(self.matches)}"
            f"list them with {list_with}"
        )


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names that look like ``name``, the closest first."""
    return get_close_matches(name, list(known), n=3, cutoff=0.5)


def suggestion(matches: list[str]) -> str:
    """Return the words that offer ``matches`` to the reader, or nothing."""
    return f"did you mean {' or '.join(map(repr, matches))}? " if matches else ""
