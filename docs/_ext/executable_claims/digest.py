"""Say what an executed chapter depends on, as digests.

Two independent layers keep a cached result from being stale:

* the *key*, computed before anything runs: the chapter's cells, the interpreter, every installed
  package, the environment variables that matter, this extension, and the files of the project
  that the chapter names;
* the *record*, made by the process that ran the cells: the digest of every project file that it
  really read.

A result counts only while both still hold.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import sysconfig
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .model import Cell

OWN_FOLDER = Path(__file__).parent
ALWAYS_RELEVANT = (
    "PYTHONPATH",
    "PYTHONOPTIMIZE",
    "PYTHONWARNINGS",
    "PYTHONDEVMODE",
    "PYTHONHASHSEED",
    "MPLBACKEND",
)
"""Environment variables that change what any Python program does."""


def digest(value: Any) -> str:
    """Return the digest of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """Return the digest of a file's bytes, or a word that no digest equals if it can't be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "unreadable"


def source_files(folder: Path) -> Iterator[Path]:
    """Yield the files under ``folder`` (or the file itself), without what Python writes there."""
    if folder.is_file():
        yield folder
    for name, folders, files in os.walk(folder):
        folders[:] = sorted(part for part in folders if part != "__pycache__")
        yield from (Path(name, file) for file in sorted(files) if not file.endswith(".pyc"))


def tree_digest(folder: Path) -> str:
    """Return the digest of all files under ``folder``, names included."""
    return digest(
        [[str(path.relative_to(folder)), file_digest(path)] for path in source_files(folder)]
    )


def installed_digest(folders: Iterable[str]) -> str:
    """Return the digest of all installed packages.

    It covers the name, size and change time of each file that can be imported, so that editing an
    installed package in place counts too. The change time, unlike the modification time, can't be
    set back.
    """
    found: list[tuple[str, int, int]] = []
    pending = sorted(set(folders))
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != "__pycache__":
                        pending.append(entry.path)
                elif entry.name.endswith((".py", ".so", ".pth", "METADATA")):
                    status = entry.stat()
                    found.append((entry.path, status.st_size, status.st_ctime_ns))
    return digest(sorted(found))


@dataclass(frozen=True)
class Surroundings:
    """What every chapter of a build depends on.

    Attributes:
        python: Version and build of the interpreter.
        installed: Digest of the installed packages.
        variables: The environment variables that matter, with their values.
        extension: Digest of this extension's code.
        files: Digest of each file that counts for all chapters, such as the lock file.
        packages: Digest of each project folder, which counts for the chapters that name it.
    """

    python: str
    installed: str
    variables: dict[str, str]
    extension: str
    files: dict[str, str]
    packages: dict[str, str]

    def key(self, cells: Sequence[Cell], folder: Path) -> str:
        """Return the key of a chapter.

        Args:
            cells: Its code cells. Its prose is no part of the key.
            folder: The folder that it is in: modules beside it can be imported too.
        """
        sources = [[cell.source, cell.options] for cell in cells]
        text = "\n".join(cell.source for cell in cells)
        named = {name: value for name, value in self.packages.items() if Path(name).name in text}
        common = {**asdict(self), "packages": named}
        return digest([sources, common, _importable_from(folder)])


def _importable_from(folder: Path) -> list[tuple[str, str]]:
    """Return what an import finds in a folder: modules with their digest, packages by name.

    A package that comes into being there can hide another; what is in it counts when it is read.
    """
    modules = [path for path in folder.iterdir() if path.suffix in (".py", ".pyc", ".so")]
    packages = [path.parent for path in folder.glob("*/__init__.*")]
    found = [(path.name, file_digest(path)) for path in modules]
    return sorted(found + [(path.name, "") for path in packages])


def look_around(
    root: Path,
    depends: Iterable[str],
    patterns: Iterable[str],
    environment: Mapping[str, str] = os.environ,
) -> Surroundings:
    """Take the digests that all chapters of a build share.

    Args:
        root: Folder of the project.
        depends: Files and folders of the project that cells may use, relative to ``root``.
        patterns: Names of further environment variables that matter; ``*`` is a wildcard.
        environment: The environment variables.
    """
    wanted = (*ALWAYS_RELEVANT, *patterns)
    paths = {name: root / name for name in depends}
    site = sysconfig.get_paths()
    named = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    folders = [path for path in named if Path(path).is_dir()]
    return Surroundings(
        python=f"{sys.version} {platform.platform()}",
        installed=installed_digest((site["purelib"], site["platlib"], *folders)),
        variables={
            name: value
            for name, value in sorted(environment.items())
            if any(fnmatchcase(name, pattern) for pattern in wanted)
        },
        extension=digest([[p.name, file_digest(p)] for p in sorted(OWN_FOLDER.glob("*.py"))]),
        files={name: file_digest(path) for name, path in paths.items() if not path.is_dir()},
        packages={name: tree_digest(path) for name, path in paths.items() if path.is_dir()},
    )
