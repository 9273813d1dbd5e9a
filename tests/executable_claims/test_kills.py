"""Every claim of this project can fail: what the record says of it is seen again."""

from __future__ import annotations

from pathlib import Path

from executable_claims.falsify import witnesses
from executable_claims.matrix import Effect, unkilled, untried
from executable_claims.mutants import load_mutants
from executable_claims.project import load_site
from executable_claims.trials import require_green, try_out

ROOT = Path(__file__).parent.parent.parent


def test_one_kill_of_each_claim_and_of_each_mutant_is_seen_again(monkeypatch):
    """The record is complete, and a choice of its kills happens with the sources as they are."""
    monkeypatch.chdir(ROOT)
    site = load_site(ROOT)
    assert site.matrix is not None, "run `make falsify`"
    missing = [*unkilled(site, site.matrix), *untried(site, site.matrix)]
    assert [] == [message.text for message in missing]
    assert set(load_mutants(site.settings.mutants)) == {d.name for d in site.matrix.designs}
    require_green(site)
    trials = witnesses(site, site.matrix)
    effects = try_out(site, trials, lambda done, total, name: None)
    lost = {pair: effect for pair, effect in effects.items() if effect is not Effect.KILLED}
    assert {} == lost, "run `make falsify`, then sharpen what is left unkilled"
