"""Run all claims under all mutants."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from .digest import digest
from .errors import ClaimsError
from .execution import Order, run_orders
from .matrix import Design, Effect, Matrix, basis, falsifiable
from .model import Verdict
from .mutants import load_mutants
from .store import read_result, result_path, write_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from .digest import Surroundings
    from .site import Site
    from .store import Execution

PATIENCE = 10
"""Under a mutant a chapter may take this many times as long as the slowest chapter does without."""


def falsify(site: Site, on_progress: Callable[[int, int, str], None]) -> Matrix:
    """Run the chapters of all falsifiable claims under every mutant.

    Runs whose sources did not change are not repeated.

    Args:
        site: The project, whose claims must hold.
        on_progress: Called with the number of runs done and in all, and with what was done last.

    Returns:
        The record.

    Raises:
        ClaimsError: A claim does not hold without any mutant.
    """
    designs = [
        Design(m.name, m.summary, m.source) for m in load_mutants(site.settings.mutants).values()
    ]
    around = site.look_around()
    _require_green(site)
    orders = [
        order
        for docname in sorted({claim.docname for claim in falsifiable(site).values()})
        for order in _orders(site, docname, designs, around)
    ]
    results = _run(site, orders, on_progress)
    effects = {
        slug: {d.name: _effect(results[_name(claim.docname, d)], slug) for d in designs}
        for slug, claim in falsifiable(site).items()
    }
    versions = next(iter(site.executions.values())).versions
    day = date.today().isoformat()
    return Matrix(basis(site, around), day, versions, tuple(designs), effects)


def _require_green(site: Site) -> None:
    site.refresh()
    decisions = site.judge().by_slug
    failing = [s for s in falsifiable(site) if decisions[s].verdict is not Verdict.HOLDS]
    if failing:
        raise ClaimsError(
            "claims must hold before mutants are tried on them, but these do not: "
            f"{', '.join(failing)}; build the site and mend them first"
        )


def _orders(site: Site, docname: str, designs: list[Design], around: Surroundings) -> list[Order]:
    """Return the runs of one chapter: its cells up to the last that decides such a claim."""
    page, evidence = site.pages[docname], site.executions[docname].evidence
    last = max(e.cell for e in evidence if e.slug in falsifiable(site))
    cells = tuple(cell for cell in page.cells if cell.index <= last)
    key = around.key(cells, page.path.parent)
    orders = []
    for design in designs:
        name = _name(docname, design)
        job = replace(site.job(page, digest([key, name]), around), cells=cells, persist=True)
        mutant = {"location": site.settings.mutants, "name": design.name}
        orders.append(Order(name, job, mutant))
    return orders


def _name(docname: str, design: Design) -> str:
    return f"{docname} under {design.name}"


def _run(
    site: Site, orders: list[Order], on_progress: Callable[[int, int, str], None]
) -> dict[str, Execution]:
    folder = site.store / "falsified"
    results: dict[str, Execution] = {}
    for order in orders:
        kept = read_result(result_path(folder, order.name))
        if kept and kept.key == order.job.key and not kept.changed(site.root, order.job.packages):
            results[order.name] = kept

    def keep(name: str, execution: Execution) -> None:
        results[name] = execution
        write_result(result_path(folder, name), execution)
        on_progress(len(results), len(orders), name)

    slowest = max((execution.seconds for execution in site.executions.values()), default=0)
    setting = replace(site.execution_setting(), timeout=30 + PATIENCE * slowest)
    run_orders([order for order in orders if order.name not in results], setting, keep)
    return results


def _effect(execution: Execution, slug: str) -> Effect:
    evidence = [e for e in execution.evidence if e.slug == slug]
    if any(e.failures for e in evidence):
        return Effect.KILLED
    return Effect.SURVIVED if any(e.checks for e in evidence) else Effect.NO_VERDICT
