"""An IPython shell whose outputs are notebook outputs and whose lines are the chapter's lines.

No kernel: the cells run in this process. What a cell shows is collected in the notebook format,
and code is compiled under the chapter's own path and line numbers, so that a traceback, a failed
check and ``inspect.getsource`` all speak of the page that the author edits.
"""

from __future__ import annotations

import ast
import base64
import ctypes
import io
import linecache
import traceback
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .model import Cell

Output = dict[str, Any]

_C = ctypes.CDLL(None)
"""The C library of this process: its buffered output has no other way out."""


class Outputs(list[Output]):
    """The outputs of a cell, in the order of their appearance."""

    def stream(self, name: str, text: str) -> None:
        """Add text written to stdout or stderr, to the output before it if that is its kind."""
        if self and self[-1].get("name") == name:
            self[-1]["text"] += text
        elif text:
            self.append({"output_type": "stream", "name": name, "text": text})

    def data(self, kind: str, bundle: dict[str, Any], metadata: Any, **more: Any) -> None:
        """Add the representations of a value; images are bytes until here."""
        bundle = {
            mime: base64.b64encode(value).decode() if isinstance(value, bytes) else value
            for mime, value in bundle.items()
        }
        self.append({"output_type": kind, "data": bundle, "metadata": metadata or {}, **more})


class _Stream(io.TextIOBase):
    """A text stream that writes into the outputs of the running cell."""

    def __init__(self, shell: ChapterShell, name: str) -> None:
        self._shell = shell
        self._name = name

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._shell.take_native_output()
        self._shell.outputs.stream(self._name, text)
        return len(text)


class _Publisher(DisplayPublisher):
    shell: ChapterShell

    def publish(self, data: Any, metadata: Any = None, *_: Any, **__: Any) -> None:
        self.shell.take_native_output()
        self.shell.outputs.data("display_data", data, metadata)

    def clear_output(self, wait: bool = False) -> None:
        self.shell.outputs.clear()


class _DisplayHook(DisplayHook):
    shell: ChapterShell

    def write_output_prompt(self) -> None:
        pass  # the count is part of the output itself

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        count = self.prompt_count
        self.shell.take_native_output()
        self.shell.outputs.data("execute_result", format_dict, md_dict, execution_count=count)

    def finish_displayhook(self) -> None:
        self._is_active = False


class _Compiler(CachingCompiler):
    """Compiles each cell as a part of its chapter."""

    path: str = ""
    shown_path: str = ""
    offset: int = 0

    def cache(self, transformed_code: str, number: int = 0, raw_code: str | None = None) -> str:
        return self.path

    def format_code_name(self, name: str) -> tuple[str, str] | None:
        return ("Chapter", self.shown_path) if name == self.path else None

    def ast_parse(self, source: str, filename: str = "", symbol: str = "exec") -> ast.AST:
        try:
            tree = super().ast_parse(source, filename, symbol)
        except SyntaxError as error:
            error.lineno = (error.lineno or 1) + self.offset
            raise
        return ast.increment_lineno(tree, self.offset)


class ChapterShell(InteractiveShell):
    """Runs the cells of one chapter, one after another.

    Args:
        path: The chapter.
        shown_path: Its path in tracebacks.
        cells: Its code cells.
        native: File to which the real stdout of the process is sent, if it is.
    """

    compile: _Compiler

    def __init__(
        self,
        path: Path,
        shown_path: str,
        cells: Iterable[Cell],
        native: io.BufferedRandom | None = None,
    ) -> None:
        self.outputs = Outputs()
        self._native = native
        config = Config()
        config.HistoryManager.enabled = False
        config.InlineBackend.figure_formats = {"svg"}
        super().__init__(  # type: ignore[no-untyped-call]
            config=config,
            colors="NoColor",
            compiler_class=_Compiler,
            display_pub_class=_Publisher,
            displayhook_class=_DisplayHook,
        )
        # Only the one shell that says so is found by get_ipython() and by plotting libraries.
        InteractiveShell._instance = type(self)._instance = self  # type: ignore[assignment]
        self.compile.path = str(path)
        self.compile.shown_path = shown_path
        _show_only_code(str(path), cells)

    def run(self, cell: Cell) -> tuple[Outputs, BaseException | None]:
        """Run a cell.

        Returns:
            What it showed, and the exception that ended it.
        """
        self.outputs = Outputs()
        leading = len(cell.source) - len(cell.source.lstrip("\n"))
        self.compile.offset = cell.line - 1 + leading
        with redirect_stdout(_Stream(self, "stdout")), redirect_stderr(_Stream(self, "stderr")):
            result: Any = self.run_cell(  # type: ignore[no-untyped-call]
                cell.source, store_history=True
            )
        self.take_native_output()
        return self.outputs, result.error_before_exec or result.error_in_exec

    def take_native_output(self) -> None:
        """Add what C++ code or a child process has written to the real stdout since last time."""
        if self._native is None:
            return
        _C.fflush(None)
        self._native.seek(0)
        text = self._native.read().decode(errors="replace")
        self._native.truncate(0)
        self.outputs.stream("stdout", text)

    def enable_gui(self, gui: str | None = None) -> None:
        """Accept the choice of a plotting backend: figures are always outputs of their cell."""

    def error_line(self, error: BaseException) -> int | None:
        """Return the innermost line of the chapter that ``error`` passed."""
        if isinstance(error, SyntaxError) and error.filename == self.compile.path:
            return error.lineno
        walked = traceback.walk_tb(error.__traceback__)
        lines = [line for frame, line in walked if frame.f_code.co_filename == self.compile.path]
        return lines[-1] if lines else None

    def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
        self.outputs.append(
            {
                "output_type": "error",
                "ename": getattr(etype, "__name__", str(etype)),
                "evalue": str(evalue),
                "traceback": list(stb),
            }
        )


def _show_only_code(path: str, cells: Iterable[Cell]) -> None:
    """Let tracebacks and ``inspect`` see the chapter with its prose blanked out: valid Python."""
    lines: list[str] = []
    for cell in cells:
        lines += ["\n"] * (cell.line - 1 - len(lines))
        lines += [line + "\n" for line in cell.source.splitlines()]
    # Without a modification time, linecache never drops the entry.
    linecache.cache[path] = (sum(map(len, lines)), None, lines, path)
