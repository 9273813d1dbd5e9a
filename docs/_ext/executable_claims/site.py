"""The claims of a project as a whole: pages, results, verdicts. Sphinx-free.

The build and the command line both hold one of these. It runs what is stale and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .cells import Job
from .chapters import Page, read_page
from .decide import Outcome, decide
from .digest import OWN_FOLDER, Surroundings, digest, look_around
from .execution import Order, Setting, run_orders
from .model import Message
from .store import Execution, prune, read_result, result_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from myst_parser.config.main import MdParserConfig

    from .settings import Settings


@dataclass
class Site:
    """The pages of a project with what their cells gave.

    Attributes:
        root: The source folder.
        settings: The settings of the extension.
        pages: Every page by its name.
        executions: The results of the chapters, by page.
        outcome: The verdicts, once :meth:`judge` was called.
    """

    root: Path
    settings: Settings
    pages: dict[str, Page] = field(default_factory=dict)
    executions: dict[str, Execution] = field(default_factory=dict)
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def store(self) -> Path:
        """Folder that keeps the results."""
        return self.root / self.settings.store

    def read(self, paths: Mapping[str, Path], config: MdParserConfig) -> None:
        """Read all Markdown pages.

        Args:
            paths: File of each page, by its name.
            config: How Markdown is read in the project.
        """
        self.pages = {
            docname: read_page(docname, path, config)
            for docname, path in sorted(paths.items())
            if path.suffix == ".md"
        }

    @property
    def chapters(self) -> dict[str, Page]:
        """The pages with cells."""
        return {name: page for name, page in self.pages.items() if page.is_chapter}

    def result(self, docname: str) -> Path:
        """Return the file that keeps the result of a chapter."""
        return result_path(self.store, docname)

    def refresh(self, on_end: Callable[[str], None] = lambda docname: None) -> list[str]:
        """Run the chapters whose kept result is missing, stale or red.

        Args:
            on_end: Called with the name of each chapter when it has run.

        Returns:
            The names of the chapters that were run.
        """
        around = self._look_around()
        chapters = self.chapters
        prune(self.store, chapters)
        orders = {}
        for docname, page in chapters.items():
            key = around.key(page.cells, page.path.parent)
            if not self._is_fresh(docname, key, around):
                orders[docname] = Order(self.job(page, key, around), self.result(docname))
        run_orders(
            orders.values(), self.execution_setting(), lambda order: on_end(order.job.docname)
        )
        results = {docname: read_result(self.result(docname)) for docname in chapters}
        self.executions = {docname: found for docname, found in results.items() if found}
        return list(orders)

    def judge(self) -> Outcome:
        """Give all verdicts, and check once more that nothing changed since the cells ran."""
        self.outcome = decide(self.pages, self.executions)
        around = self._look_around()
        for docname, page in self.chapters.items():
            execution = self.executions.get(docname)
            changed = execution.changed(self.root, around.packages) if execution else ["its result"]
            if execution and execution.key != around.key(page.cells, page.path.parent):
                changed.append("its cells or surroundings")
            if changed:
                text = (
                    "the results of a chapter must come from the files as they are, but "
                    f"{', '.join(changed)} changed since its cells ran; build again"
                )
                self.outcome.messages.append(Message("stale", docname, 1, text))
        return self.outcome

    def job(self, page: Page, key: str, around: Surroundings) -> Job:
        """Return what running a chapter takes."""
        named = self.settings.distributions
        cells = tuple(page.cells)
        return Job(page.docname, page.path, key, cells, self.root, around.packages, named)

    def execution_setting(self) -> Setting:
        """Return how chapters are run."""
        sources = tuple(self.root / name for name in self.settings.depends)
        return Setting(
            preload=self.settings.preload,
            sources=(*sources, OWN_FOLDER),
            timeout=self.settings.timeout,
            environment={"IPYTHONDIR": str(self.store / "ipython")},
        )

    def identity(self, docname: str) -> str:
        """Return a digest of a chapter's result: pages are read anew when it changes."""
        execution = self.executions.get(docname)
        return digest([execution.key, execution.outputs, len(execution.faults)]) if execution else ""

    def _look_around(self) -> Surroundings:
        return look_around(self.root, self.settings.depends, self.settings.environment)

    def _is_fresh(self, docname: str, key: str, around: Surroundings) -> bool:
        kept = read_result(self.result(docname))
        return (
            kept is not None
            and kept.passed
            and kept.key == key
            and not kept.changed(self.root, around.packages)
        )
