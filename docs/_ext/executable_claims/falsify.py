"""Run claims under mutants, which they must notice.

One process imports what is slow and forks a child for each run of a chapter. A run decides only
the claims that use code of the mutant, which a run without any mutant has noted; a block ends at
the first wrong value, and a crash loses no other claim. All of these shortcuts can only miss a
kill: none makes one up.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from .blocks import cells_for, slugs_in
from .digest import digest
from .errors import ClaimsError
from .execution import Order, run_orders
from .matrix import Design, Effect, Matrix, Row, falsifiable, sources_digest
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


def falsify(site: Site, on_progress: Progress) -> Matrix:
    """Run all falsifiable claims under every mutant that they could notice.

    Runs whose sources did not change are not repeated.

    Args:
        site: The project, whose claims must hold.
        on_progress: Called with the number of runs done and in all, and with what was done last.

    Returns:
        The record.

    Raises:
        ClaimsError: A claim does not hold without any mutant.
    """
    require_green(site)
    mutants = load_mutants(site.settings.mutants)
    designs = tuple(Design(m.name, m.summary, m.source) for m in mutants.values())
    reached = _reached(site, on_progress)
    trials = [
        Trial(docname, tuple(slug for slug in slugs if design.name in reached[slug]), design.name)
        for docname, slugs in _by_chapter(site).items()
        for design in designs
    ]
    effects = try_out(site, [trial for trial in trials if trial.slugs], on_progress)
    around = site.look_around()
    rows = {
        slug: Row(
            sources_digest(site.pages[claim.docname].cells, slug),
            {d.name: effects.get((slug, d.name), Effect.UNTOUCHED) for d in designs},
        )
        for slug, claim in falsifiable(site).items()
    }
    versions = next(iter(site.executions.values())).versions
    return Matrix(date.today().isoformat(), versions, around.packages, designs, rows)


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


def witnesses(site: Site, matrix: Matrix) -> list[Trial]:
    """Return trials that prove anew that each claim and each mutant of a record has a kill.

    Few runs do: mutants that kill many claims are taken first.
    """
    kills = {name: set(matrix.killed(name)) for name in load_mutants(site.settings.mutants)}
    left = set(falsifiable(site)) & set(matrix.rows)
    chosen: dict[str, set[str]] = {}
    while any(kills[name] & left for name in kills):
        best = max(kills, key=lambda name: len(kills[name] & left))
        chosen[best] = kills[best] & left
        left -= kills[best]
    for name in kills.keys() - chosen.keys():
        chosen[name] = set(sorted(kills[name])[:1])
    return [
        Trial(docname, wanted, name)
        for docname, slugs in _by_chapter(site).items()
        for name in kills
        if (wanted := tuple(slug for slug in slugs if slug in chosen[name]))
    ]


def require_green(site: Site) -> None:
    """Run what is stale, and refuse to try mutants on claims that do not hold.

    Raises:
        ClaimsError: Some do not.
    """
    site.refresh()
    decisions = site.judge().by_slug
    failing = [s for s in falsifiable(site) if decisions[s].verdict is not Verdict.HOLDS]
    if failing:
        raise ClaimsError(
            "claims must hold before mutants are tried on them, but these do not: "
            f"{', '.join(failing)}; build the site and mend them first"
        )


def _by_chapter(site: Site) -> dict[str, tuple[str, ...]]:
    """Return the falsifiable claims of each chapter, in the order of their blocks."""
    chapters: dict[str, list[str]] = defaultdict(list)
    wanted = falsifiable(site)
    for docname, page in site.chapters.items():
        blocks = [slug for cell in page.cells for slug in slugs_in(cell) if slug in wanted]
        decided = [e.slug for e in site.executions[docname].evidence if e.slug in wanted]
        chapters[docname] = list(dict.fromkeys([*blocks, *decided]))
    return {docname: tuple(slugs) for docname, slugs in chapters.items() if slugs}


def _reached(site: Site, on_progress: Progress) -> Mapping[str, Iterable[str]]:
    """Return the mutants whose code each claim uses; all of them for one that does not tell."""
    trials = [Trial(docname, slugs) for docname, slugs in _by_chapter(site).items()]
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
