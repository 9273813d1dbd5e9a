"""Write down verdicts as data that other programs read: ``claims.json``."""

from __future__ import annotations

import json
from collections import Counter
from importlib import resources
from typing import TYPE_CHECKING, Any

from .model import Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .decide import Outcome
    from .discuss import Desk
    from .model import Decision

FORMAT = 1
"""Version of the format of ``claims.json``."""


def outcome_json(
    outcome: Outcome, project: str, versions: Mapping[str, str], desk: Desk
) -> dict[str, Any]:
    """Return the verdicts as JSON values, in the form that ``claims.schema.json`` describes.

    Args:
        outcome: The verdicts.
        project: Name of the project.
        versions: Versions of Python and of the named distributions.
        desk: Makes the addresses of claims.
    """
    verdicts = Counter(decision.verdict.value for decision in outcome.decisions)
    kinds = Counter(decision.claim.kind.value for decision in outcome.decisions)
    return {
        "format": FORMAT,
        "project": project,
        "commit": desk.commit,
        "versions": dict(versions),
        "totals": {
            "claims": len(outcome.decisions),
            "verdicts": {verdict.value: verdicts[verdict.value] for verdict in Verdict},
            "kinds": {kind.value: kinds[kind.value] for kind in Kind},
        },
        "claims": [_claim_json(decision, desk) for decision in outcome.decisions],
    }


def _claim_json(decision: Decision, desk: Desk) -> dict[str, Any]:
    claim, evidence = decision.claim, decision.evidence
    data = claim.to_json()
    data["accepted"] = claim.accepted if claim.is_accepted else ""
    data["sentence_digest"] = claim.sentence_digest
    del data["accepted_digest"]
    data["verdict"] = decision.verdict.value
    data["url"] = f"{desk.address(claim.docname)}#{claim.slug}"
    data["evidence"] = json.loads(json.dumps(evidence.to_json())) if evidence else None
    return data


def schema() -> dict[str, Any]:
    """Return the JSON schema of ``claims.json``."""
    text = resources.files(__package__).joinpath("schema/claims.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
