"""Run claims of chapters under mutants.

One process imports what is slow and forks a child for each run of a chapter. A run decides only
the claims that use code of the mutant, which a run without any mutant has noted; a block ends at
the first wrong value, and a crash loses no other claim. All of these shortcuts can only miss a
kill: none makes one up.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .blocks import cells_for, slugs_in
from .decide import decide
from .digest import digest
from .errors import ClaimsError
from .execution import Order, run_orders
from .matrix import Effect, falsifiable
from .model import Verdict
from .mutants import load_mutants
from .store import read_result, result_path, write_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .digest import Surroundings
    from .site import Site
    from .store import Execution

    Progress = Callable[[int, int, str], None]
    Kills = dict[tuple[str, str], Effect]

PATIENCE = 5
"""A run may take this many times as long as the chapter does without a mutant,"""
RESERVE = 30
"""and so many seconds more."""


@dataclass(frozen=True)
class Trial:
    """A run of some claims of a chapter.

    Attributes:
        docname: The chapter.
        slugs: The claims to decide, in the order of their blocks.
        mutant: The wrong design under which to decide them; empty to watch which are used.
    """

    docname: str
    slugs: tuple[str, ...]
    mutant: str = ""

    @property
    def name(self) -> str:
        """Its name in messages and in the store."""
        return f"{self.docname} from {self.slugs[0]} under {self.mutant or 'no mutant'}"


def require_green(site: Site) -> None:
    """Run what is stale, and refuse to try mutants on claims that do not hold.

    Raises:
        ClaimsError: Some do not.
    """
    wanted = falsifiable(site)
    pages = {claim.docname: site.pages[claim.docname] for claim in wanted.values()}
    site.refresh(only=pages)
    decisions = decide(pages, site.executions).by_slug
    failing = [slug for slug in wanted if decisions[slug].verdict is not Verdict.HOLDS]
    if failing:
        raise ClaimsError(
            "claims must hold before mutants are tried on them, but these do not: "
            f"{', '.join(failing)}; build the site and mend them first"
        )


def by_chapter(site: Site) -> dict[str, tuple[str, ...]]:
    """Return the falsifiable claims of each chapter, in the order of their blocks."""
    wanted = falsifiable(site)
    chapters: dict[str, tuple[str, ...]] = {}
    for docname in dict.fromkeys(claim.docname for claim in wanted.values()):
        cells, evidence = site.pages[docname].cells, site.executions[docname].evidence
        blocks = [slug for cell in cells for slug in slugs_in(cell) if slug in wanted]
        decided = [e.slug for e in evidence if e.slug in wanted]
        chapters[docname] = tuple(dict.fromkeys([*blocks, *decided]))
    return chapters


def find_reached(site: Site, on_progress: Progress) -> Mapping[str, Iterable[str]]:
    """Return the mutants whose code each claim uses; all of them for one that does not tell."""
    trials = [Trial(docname, slugs) for docname, slugs in by_chapter(site).items()]
    every = list(load_mutants(site.settings.mutants))
    reached: dict[str, list[str]] = defaultdict(lambda: every)
    for execution in _run(site, trials, on_progress).values():
        fine = {evidence.slug for evidence in execution.evidence if not evidence.failures}
        reached.update((slug, found) for slug, found in execution.reached.items() if slug in fine)
    return reached


def _run(site: Site, trials: list[Trial], on_progress: Progress) -> dict[str, Execution]:
    folder = site.store / "falsified"
    results: dict[str, Execution] = {}
    orders = []
    around = site.look_around()
    for trial in trials:
        order = _order(site, trial, around)
        kept = read_result(result_path(folder, order.name))
        if kept and kept.key == order.job.key and not kept.changed(site.root, around.packages):
            results[order.name] = kept
        else:
            orders.append(order)

    def keep(name: str, execution: Execution) -> None:
        results[name] = execution
        write_result(result_path(folder, name), execution)
        on_progress(len(results), len(trials), name)

    run_orders(orders, site.execution_setting(), keep)
    return results


def _order(site: Site, trial: Trial, around: Surroundings) -> Order:
    page = site.pages[trial.docname]
    cells = cells_for(page.cells, trial.slugs)
    key = digest([around.key(cells, page.path.parent), trial.mutant])
    job = replace(site.job(page, key, around), cells=cells, trial=True)
    timeout = RESERVE + PATIENCE * site.executions[trial.docname].seconds
    return Order(trial.name, job, site.settings.mutants, trial.mutant, timeout)


def _effect(execution: Execution, slug: str) -> Effect:
    """Return what a run says of a claim."""
    checks = [check for e in execution.evidence if e.slug == slug for check in e.checks]
    failures = [check for check in checks if not check.passed]
    if any(not check.raised for check in failures):
        return Effect.KILLED
    # A name that an earlier block did not come to define says nothing of this claim.
    if not checks or any(check.got.startswith("NameError:") for check in failures):
        return Effect.NO_VERDICT
    return Effect.RAISED if failures else Effect.SURVIVED


def try_out(site: Site, trials: Iterable[Trial], on_progress: Progress) -> Kills:
    """Make trials.

    Args:
        site: The project.
        trials: The trials. After one that ends its process, the rest of its claims are tried again.
        on_progress: As for :func:`falsify`.

    Returns:
        What was seen, by claim and mutant.
    """
    effects: Kills = {}
    pending = list(trials)
    while pending:
        results = _run(site, pending, on_progress)
        rest = []
        for trial in pending:
            execution = results[trial.name]
            seen = {slug: _effect(execution, slug) for slug in trial.slugs}
            effects.update({(slug, trial.mutant): effect for slug, effect in seen.items()})
            undecided = [s for s in trial.slugs if all(e.slug != s for e in execution.evidence)]
            if not execution.sources and undecided[1:]:  # the first of them ended the process
                rest.append(replace(trial, slugs=tuple(undecided[1:])))
        pending = rest
    return effects
