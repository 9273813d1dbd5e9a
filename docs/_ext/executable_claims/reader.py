"""Give MyST-NB the executed notebook of a chapter in place of the bare one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook

from .store import read_result

if TYPE_CHECKING:
    from myst_parser.config.main import MdParserConfig


def read_executed(text: str, path: str, result: str, config: MdParserConfig) -> Any:
    """Read a chapter and put in the outputs that its cells gave.

    MyST-NB calls this for every chapter (setting ``nb_custom_formats``) and runs nothing itself.

    Args:
        text: The chapter.
        path: Its file.
        result: The file with the result of its cells.
        config: How Markdown is read in the project.

    Returns:
        The executed notebook. Cells that did not run, or that were edited since, have no outputs.
    """
    notebook = read_myst_markdown_notebook(text, config=config, add_source_map=True, path=path)
    execution = read_result(Path(result))
    if execution is None:
        return notebook
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for count, (cell, source) in enumerate(zip(code, execution.sources, strict=False), start=1):
        if cell.source != source:
            break
        cell.execution_count = count
        cell.outputs = [nbformat.from_dict(output) for output in execution.outputs[count - 1]]
    notebook.metadata["language_info"] = nbformat.from_dict(
        {"name": "python", "version": execution.versions.get("python", "")}
    )
    return notebook
