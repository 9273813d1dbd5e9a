"""Show that claims can fail: run them under mutants, which they must notice."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from .matrix import Design, Effect, Matrix, Row, falsifiable, sources_digest
from .mutants import load_mutants
from .prove import prove
from .trials import Trial, by_chapter, find_reached, require_green, try_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .site import Site
    from .trials import Kills, Progress


def falsify(site: Site, on_progress: Progress, known: Matrix | None, every: bool) -> Matrix:
    """Run falsifiable claims under mutants.

    Runs whose sources did not change are not repeated.

    Args:
        site: The project, whose claims must hold.
        on_progress: Called with the number of runs done and in all, and with what was done last.
        known: The record of an earlier run.
        every: Whether to run every claim under every mutant that it could notice; otherwise as
            few as prove that each claim and each mutant has a kill.

    Returns:
        The record.

    Raises:
        ClaimsError: A claim does not hold without any mutant.
    """
    require_green(site)
    reached = find_reached(site, on_progress)
    if every:
        effects = try_out(site, _all_trials(site, reached), on_progress)
    else:
        effects = prove(site, reached, known, on_progress)
    return _record(site, reached, known, effects)


def _all_trials(site: Site, reached: Mapping[str, Iterable[str]]) -> list[Trial]:
    trials = [
        Trial(docname, tuple(slug for slug in slugs if name in reached[slug]), name)
        for docname, slugs in by_chapter(site).items()
        for name in load_mutants(site.settings.mutants)
    ]
    return [trial for trial in trials if trial.slugs]


def _record(
    site: Site, reached: Mapping[str, Iterable[str]], known: Matrix | None, effects: Kills
) -> Matrix:
    mutants = load_mutants(site.settings.mutants)
    packages = site.look_around().packages
    # What is known of the very same sources stays known.
    old = known.rows if known and known.packages == packages else {}
    rows = {}
    for slug, claim in falsifiable(site).items():
        sources = sources_digest(site.pages[claim.docname].cells, slug)
        before = old[slug].effects if slug in old and old[slug].sources == sources else {}
        seen = {
            name: effects.get((slug, name)) or before.get(name) or Effect.UNTRIED
            for name in mutants
        }
        missed = {name: Effect.UNTOUCHED for name in mutants if name not in reached[slug]}
        rows[slug] = Row(sources, seen | missed)
    designs = tuple(Design(m.name, m.summary, m.source) for m in mutants.values())
    versions = next(iter(site.executions.values())).versions
    return Matrix(date.today().isoformat(), versions, packages, designs, rows)


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
        for docname, slugs in by_chapter(site).items()
        for name in kills
        if (wanted := tuple(slug for slug in slugs if slug in chosen[name]))
    ]
