"""The claims of a project as a whole: pages, results, verdicts. Sphinx-free.

The build and the command line both hold one of these. It runs what is stale and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from .chapters import Page, read_page
from .decide import Outcome, decide
from .digest import OWN_FOLDER, Surroundings, file_digest, look_around
from .discuss import Threads
from .execution import Order, Setting, run_orders
from .jobs import Job
from .matrix import Matrix
from .model import Claim, Message
from .remarks import remarks
from .store import Execution, prune, read_result, result_path, write_result

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

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
        notebooks: Files of pages that are notebooks, which chapters must not be.
    """

    root: Path
    settings: Settings
    pages: dict[str, Page] = field(default_factory=dict)
    executions: dict[str, Execution] = field(default_factory=dict)
    outcome: Outcome = field(default_factory=Outcome)
    notebooks: list[str] = field(default_factory=list)

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
        self.notebooks = [
            str(path.relative_to(self.root))
            for path in sorted(paths.values())
            if path.suffix == ".ipynb"
        ]

    def arrange(self, order: Sequence[str]) -> None:
        """Put the pages in an order; those that it does not name come last."""
        place = {docname: number for number, docname in enumerate(order)}
        names = sorted(self.pages, key=lambda name: (place.get(name, len(place)), name))
        self.pages = {name: self.pages[name] for name in names}

    @property
    def claims(self) -> dict[str, Claim]:
        """The claims by slug; of several with the same slug the first."""
        claims: dict[str, Claim] = {}
        for page in self.pages.values():
            for claim in page.claims:
                claims.setdefault(claim.slug, claim)
        return claims

    @cached_property
    def threads(self) -> Threads:
        """The public threads that the project knows."""
        name = self.settings.threads
        return Threads.load(self.root / name) if name else Threads()

    @property
    def chapters(self) -> dict[str, Page]:
        """The pages with cells."""
        return {name: page for name, page in self.pages.items() if page.cells}

    def result(self, docname: str) -> Path:
        """Return the file that keeps the result of a chapter."""
        return result_path(self.store, docname)

    def refresh(
        self,
        on_end: Callable[[str], None] = lambda docname: None,
        only: Collection[str] | None = None,
    ) -> list[str]:
        """Run the chapters whose kept result is missing, stale or red.

        Args:
            on_end: Called with the name of each chapter when it has run.
            only: The chapters that matter; by default all of them.

        Returns:
            The names of the chapters that were run.
        """
        around = self.look_around()
        prune(self.store, self.chapters)
        chapters = {n: p for n, p in self.chapters.items() if only is None or n in only}
        orders = []
        for docname, page in chapters.items():
            key = around.key(page.cells, page.path.parent)
            kept = read_result(self.result(docname))
            if kept and kept.usable(key, self.root, around.packages):
                self.executions[docname] = kept
            else:
                orders.append(Order(docname, self.job(page, key, around)))

        def keep(docname: str, execution: Execution) -> None:
            self.executions[docname] = execution
            write_result(self.result(docname), execution)
            on_end(docname)

        run_orders(orders, self.execution_setting(), keep)
        return [order.name for order in orders]

    def judge(self) -> Outcome:
        """Give all verdicts, and check once more that nothing changed since the cells ran."""
        self.outcome = decide(self.pages, self.executions)
        self.outcome.messages += [*remarks(self), *self._stale()]
        self.outcome.messages.sort(key=lambda message: (message.docname, message.line))
        return self.outcome

    @cached_property
    def matrix(self) -> Matrix | None:
        """The record of the last run under mutants, if there is one."""
        path = self.root / self.settings.matrix
        return Matrix.read(path) if self.settings.matrix and path.is_file() else None

    def place(self, message: Message) -> str:
        """Return where a message belongs, as ``file:line`` relative to the source folder."""
        page = self.pages.get(message.docname)
        file = page.path.relative_to(self.root) if page else message.docname
        return f"{file}:{message.line}"

    def _stale(self) -> Iterator[Message]:
        around = self.look_around()
        for docname, page in self.chapters.items():
            execution = self.executions[docname]
            changed = execution.changed(self.root, around.packages)
            if execution.key != around.key(page.cells, page.path.parent):
                changed.append("its cells or surroundings")
            if changed:
                text = (
                    "the results of a chapter must come from the files as they are, but "
                    f"{', '.join(changed)} changed since its cells ran; build again"
                )
                yield Message("stale", docname, 1, text)

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
            scratch=self.store,
        )

    def identities(self) -> dict[str, str]:
        """Return a digest of each chapter's result: its page is read anew when that changes."""
        return {docname: file_digest(self.result(docname)) for docname in self.chapters}

    def look_around(self) -> Surroundings:
        """Take the digests that all chapters share."""
        return look_around(self.root, self.settings.depends, self.settings.environment)
