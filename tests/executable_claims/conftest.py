"""Build the tiny projects in ``tests/roots`` for real, each test in a copy of its own."""

from __future__ import annotations

import io
import json
import re
import shutil
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sphinx.testing.util import SphinxTestApp

if TYPE_CHECKING:
    from collections.abc import Callable

ROOTS = Path(__file__).parent.parent / "roots"


@dataclass
class Build:
    """What a build did.

    Attributes:
        code: Its exit code.
        warnings: Its warnings, one for each, with paths relative to the project.
        ran: The chapters whose cells it ran.
        read: The pages that it read.
        written: The pages that it wrote.
        html: Folder of its pages.
    """

    code: int
    warnings: list[str]
    ran: list[str]
    read: list[str]
    written: list[str]
    html: Path

    def page(self, name: str) -> str:
        """Return the HTML of a page."""
        return (self.html / f"{name}.html").read_text(encoding="utf-8")

    @property
    def claims(self) -> dict[str, Any]:
        """The content of ``claims.json``."""
        data: dict[str, Any] = json.loads((self.html / "claims.json").read_text(encoding="utf-8"))
        return data

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict of each claim."""
        return {claim["slug"]: claim["verdict"] for claim in self.claims["claims"]}


@dataclass
class Project:
    """A copy of a tiny project.

    Attributes:
        root: Its folder.
        overrides: Settings that replace those of its ``conf.py``.
    """

    root: Path
    overrides: dict[str, Any] = field(default_factory=dict)

    def build(self, builder: str = "html", parallel: int = 1, **overrides: Any) -> Build:
        """Build the project as ``sphinx-build -W --keep-going`` does."""
        status, warning = io.StringIO(), io.StringIO()
        app = SphinxTestApp(
            buildername=builder,
            srcdir=self.root,
            confoverrides={**self.overrides, **overrides},
            status=status,
            warning=warning,
            warningiserror=True,
            parallel=parallel,
        )
        try:
            app.build()
        finally:
            app.cleanup()
        told = re.sub(r"\x1b\[[0-9;]*m", "", status.getvalue())
        return Build(
            app.statuscode,
            self._split(warning.getvalue()),
            sorted(re.findall(r"ran the cells of (\S+)", told)),
            sorted(re.findall(r"reading sources\.\.\. \[ *\d+%\] (\S+)", told)),
            sorted(re.findall(r"writing output\.\.\. \[ *\d+%\] (\S+)", told)),
            Path(app.outdir),
        )

    def _split(self, text: str) -> list[str]:
        text = re.sub(r"\x1b\[[0-9;]*m", "", text).replace(f"{self.root}/", "")
        starts = [match.start() for match in re.finditer(r"^(\S*: )?WARNING: ", text, re.MULTILINE)]
        ends = [*starts, len(text)][1:]
        parts = [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]
        return [part.replace(": WARNING: ", ": ", 1) for part in parts]

    def copy(self, root: Path) -> Project:
        """Return a copy of the project as it is now, results included."""
        shutil.copytree(self.root, root)
        return Project(root, self.overrides)

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a part of a file, which must be there once."""
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} must be once in {name}"
        path.write_text(text.replace(old, new), encoding="utf-8")


def _copy(name: str, folder: Path) -> Project:
    return Project(ROOTS / f"test-{name}").copy(folder / name)


@pytest.fixture(scope="session")
def copy_project() -> Callable[[str, Path], Project]:
    """Return a function that copies the project called ``name`` into a folder."""
    return _copy


@pytest.fixture
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Project:
    """Return a copy of the project that the test is parametrised with, or of the green one."""
    return _copy(getattr(request, "param", "green"), tmp_path)


@pytest.fixture(scope="session")
def build_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Build]:
    """Return a function that builds a project once for all tests."""
    return lru_cache(lambda name: _copy(name, tmp_path_factory.mktemp(name)).build())
