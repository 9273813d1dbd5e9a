"""Prove with few runs that every claim can fail and that every mutant matters.

All claims under all mutants is a long table. What it must show is one kill in each row and in each
column: this looks for these, likely ones first, and leaves the rest untried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .matrix import Effect
from .mutants import load_mutants
from .trials import Trial, by_chapter, try_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .matrix import Matrix
    from .site import Site
    from .trials import Kills, Progress


def prove(
    site: Site, reached: Mapping[str, Iterable[str]], known: Matrix | None, on_progress: Progress
) -> Kills:
    """Try mutants until every claim and every mutant has a kill, or nothing is left to try.

    Args:
        site: The project.
        reached: The mutants that each claim could notice.
        known: An earlier record: what killed then probably kills now.
        on_progress: As for :func:`executable_claims.falsify.falsify`.

    Returns:
        What was seen, by claim and mutant.
    """
    search = _Search(site, reached, known)
    while trials := [*search.for_claims(), *search.for_mutants()]:
        search.seen.update(try_out(site, list(dict.fromkeys(trials)), on_progress))
    return search.seen


class _Search:
    """What has been seen, and what to try next."""

    def __init__(
        self, site: Site, reached: Mapping[str, Iterable[str]], known: Matrix | None
    ) -> None:
        self.seen: Kills = {}
        self._chapters = by_chapter(site)
        self._mutants = list(load_mutants(site.settings.mutants))
        self._reached = {
            slug: set(reached[slug]) for slugs in self._chapters.values() for slug in slugs
        }
        self._known = {
            (slug, name): effect
            for slug, row in (known.rows if known else {}).items()
            for name, effect in row.effects.items()
        }

    def for_claims(self) -> list[Trial]:
        """Return for each chapter the mutant that promises most of its claims that still live."""
        killed = {slug for (slug, _), effect in self.seen.items() if effect is Effect.KILLED}
        trials = []
        for docname, slugs in self._chapters.items():
            living = [slug for slug in slugs if slug not in killed]
            best = max(self._mutants, key=lambda name: self._promise(living, name))
            if wanted := self._open(living, best):
                trials.append(Trial(docname, wanted, best))
        return trials

    def for_mutants(self) -> list[Trial]:
        """Return for each mutant that has killed nothing yet the chapter that promises most."""
        if any(self.for_claims()):  # these may still use it
            return []
        used = {name for (_, name), effect in self.seen.items() if effect is Effect.KILLED}
        trials = []
        for name in self._mutants:
            docname = max(self._chapters, key=lambda d: self._promise(self._chapters[d], name))
            wanted = self._open(self._chapters[docname], name)
            if name not in used and wanted:
                trials.append(Trial(docname, wanted, name))
        return trials

    def _open(self, slugs: Iterable[str], name: str) -> tuple[str, ...]:
        """Return the claims that could notice a mutant and were not tried under it."""
        return tuple(s for s in slugs if name in self._reached[s] and (s, name) not in self.seen)

    def _promise(self, slugs: Iterable[str], name: str) -> float:
        """Estimate how many of some claims a mutant will kill."""
        effects = [effect for (_, other), effect in self.seen.items() if other == name]
        effects += [effect for (_, other), effect in self._known.items() if other == name]
        rate = (effects.count(Effect.KILLED) + 1) / (len(effects) + 2)
        likely = {Effect.KILLED: 1.0, Effect.SURVIVED: rate / 100, Effect.RAISED: rate / 100}
        promise = 0.0
        for slug in self._open(slugs, name):
            before = self._known.get((slug, name))
            promise += likely.get(before, rate) if before else rate
        return promise
