"""The settings of the extension, checked once."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Settings:
    """How claims are run and shown. Each is a value ``claims_<name>`` in ``conf.py``.

    Attributes:
        depends: Files and folders of the project that cells use, relative to the source folder.
            A file counts for every chapter; a folder for those that name it or read from it.
        preload: Modules to import once before all chapters, because they are slow to import.
        environment: Names of environment variables that change results; ``*`` is a wildcard.
        distributions: Installed packages whose versions a claim's card names.
        store: Folder for the results of the cells, relative to the source folder. Builds in
            several languages share it.
        timeout: Seconds that a chapter's cells may take.
        command: The command that reproduces a claim; ``{slug}`` stands for the claim.
        repository: ``owner/name`` on GitHub where claims are discussed; empty for none.
        threads: File that says where known public threads are; empty for none.
        mutants: ``module:attribute`` of the mapping of mutants; empty for none.
        matrix: File with the record of which mutant kills which claim; empty for none.
        rules: ``module:attribute`` of the slugs that must have a claim; empty for none.
        cases: Folder with a file of test cases for each of these, named after it; empty for none.
    """

    depends: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()
    store: str = "_build/executed"
    timeout: float = 600.0
    command: str = "make claim ID={slug}"
    repository: str = ""
    threads: str = ""
    mutants: str = ""
    matrix: str = ""
    rules: str = ""
    cases: str = ""

    @classmethod
    def from_values(cls, values: Mapping[str, Any], root: Path) -> Settings:
        """Check the values of a ``conf.py``.

        Args:
            values: All of its values; those that don't begin with ``claims_`` are not looked at.
            root: The source folder.

        Raises:
            ConfigurationError: A value is not what it must be.
        """
        given = {f.name: values.get(f"claims_{f.name}", f.default) for f in fields(cls)}
        for name, value in given.items():
            given[name] = _checked(name, value, cls.__dataclass_fields__[name].default)
        settings = cls(**given)
        settings._check_names(root)
        return settings

    def _check_names(self, root: Path) -> None:
        """Check that what the settings name exists and has the right form."""
        for name in self.depends:
            if not (root / name).exists():
                raise _wrong("depends", "name existing files and folders", name)
        for name in self.distributions:
            if not list(metadata.distributions(name=name)):
                raise _wrong("distributions", "name installed packages", name)
        for name, must, exists in (
            ("threads", "name an existing file", Path.is_file),
            ("cases", "name an existing folder", Path.is_dir),
        ):
            path = getattr(self, name)
            if path and not exists(root / path):
                raise _wrong(name, must, path)
        self._check_forms()

    def _check_forms(self) -> None:
        """Check the form of what can't be looked up."""
        if "{slug}" not in self.command:
            raise _wrong("command", "contain {slug}", self.command)
        if self.repository and not re.fullmatch(r"[\w.-]+/[\w.-]+", self.repository):
            raise _wrong("repository", "be owner/name", self.repository)
        for name in ("mutants", "rules"):
            location = getattr(self, name)
            if location and not re.fullmatch(r"[\w.]+:\w+", location):
                raise _wrong(name, "be module:attribute", location)


def _checked(name: str, value: Any, default: Any) -> Any:
    """Return a value of the same type as the default of its setting."""
    if isinstance(default, tuple):
        if isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value):
            return tuple(value)
        raise _wrong(name, "be a list of strings", value)
    if isinstance(default, float):
        if isinstance(value, (int, float)) and value > 0:
            return float(value)
        raise _wrong(name, "be a positive number", value)
    if not isinstance(value, str):
        raise _wrong(name, "be a string", value)
    return value


def _wrong(name: str, must: str, got: object) -> ConfigurationError:
    return ConfigurationError(f"claims_{name} must {must}, but got {got!r}; correct it in conf.py")
