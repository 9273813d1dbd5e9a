"""What running a chapter takes, as the build tells it to the launcher.

Apart from :mod:`executable_claims.cells`, so that the build need not import what runs cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .model import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class Job:
    """A chapter to run.

    Attributes:
        docname: Its name in Sphinx.
        path: Its file.
        key: Its key, kept with the result.
        cells: Its code cells.
        root: Folder of the project.
        packages: Digest of each project folder that cells may use.
        named: Distributions whose versions the evidence names.
        trial: Whether wrong results are expected: a block then ends at the first wrong value, and
            a cell that fails does not stop the ones after it.
    """

    docname: str
    path: Path
    key: str
    cells: tuple[Cell, ...]
    root: Path
    packages: dict[str, str]
    named: tuple[str, ...]
    trial: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the job as JSON values."""
        cells = [vars(cell) for cell in self.cells]
        return {**vars(self), "path": str(self.path), "root": str(self.root), "cells": cells}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Job:
        """Return the job that :meth:`to_json` described."""
        cells = tuple(Cell(**{**cell, "tags": tuple(cell["tags"])}) for cell in data["cells"])
        named = tuple(data["named"])
        paths = {"path": Path(data["path"]), "root": Path(data["root"])}
        return cls(**{**data, **paths, "cells": cells, "named": named})
