"""Find the pages and settings of a project without Sphinx's build, for the command line."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from myst_parser.config.main import MdParserConfig
from sphinx.util.matching import get_matching_files

from .errors import ConfigurationError
from .settings import Settings
from .site import Site


def load_site(root: Path) -> Site:
    """Read the project whose ``conf.py`` is in ``root``.

    Args:
        root: The source folder.

    Returns:
        Its pages, without results.

    Raises:
        ConfigurationError: There is no ``conf.py``, or a setting of it is wrong.
    """
    conf = root / "conf.py"
    if not conf.is_file():
        raise ConfigurationError(
            f"the project folder must hold a conf.py, but got {root}; go to the project's folder"
        )
    values = runpy.run_path(str(conf))
    site = Site(root, Settings.from_values(values, root))
    names = get_matching_files(
        root, values.get("include_patterns", ["**"]), values.get("exclude_patterns", [])
    )
    paths = {name.removesuffix(".md"): root / name for name in names if name.endswith(".md")}
    site.read(paths, markdown_config(values))
    return site


def markdown_config(values: dict[str, Any]) -> MdParserConfig:
    """Return how Markdown is read in a project, from the values of its ``conf.py``."""
    return MdParserConfig(enable_extensions=set(values.get("myst_enable_extensions", [])))
