"""Say what changed between two builds, from their ``claims.json``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .errors import UnreadableFileError
from .model import FINE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Claims = dict[str, dict[str, Any]]
PASSING = {verdict.value for verdict in FINE}


def load_claims(path: Path) -> Claims:
    """Read the claims of a ``claims.json`` by slug.

    Raises:
        UnreadableFileError: The file is not one.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {claim["slug"]: claim for claim in data["claims"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnreadableFileError(
            f"{path} must be a claims.json that a build wrote, but reading it gave "
            f"{type(error).__name__}: {error}; give the path of such a file"
        ) from error


def changes(
    old: dict[str, dict[str, Any]], new: dict[str, dict[str, Any]]
) -> list[tuple[str, str]]:
    """Return what changed from one build to another.

    Args:
        old: The claims of the older build, by slug.
        new: The claims of the newer build, by slug.

    Returns:
        Pairs of a word (``regressed``, ``fixed``, ``new``, ``removed``, ``reworded``, ``changed``)
        and a sentence, the regressed claims first.
    """
    order = ["regressed", "fixed", "new", "removed", "reworded", "changed"]
    return sorted(_changes(old, new), key=lambda change: (order.index(change[0]), change[1]))


def _changes(old: Claims, new: Claims) -> Iterator[tuple[str, str]]:
    for slug in old.keys() - new.keys():
        yield "removed", f"{slug}: {old[slug]['sentence']}"
    for slug in new.keys() - old.keys():
        yield _arrival(new[slug]), f"{slug}: {new[slug]['sentence']} ({new[slug]['verdict']})"
    for slug in old.keys() & new.keys():
        before, after = old[slug], new[slug]
        if before["verdict"] != after["verdict"]:
            yield (
                _turn(before, after),
                f"{slug}: {before['verdict']} before, {after['verdict']} now",
            )
        if before["sentence"] != after["sentence"]:
            yield "reworded", f"{slug}: {before['sentence']!r} before, {after['sentence']!r} now"
        if before["kind"] != after["kind"]:
            yield "changed", f"{slug}: {before['kind']} before, {after['kind']} now"


def _arrival(claim: dict[str, Any]) -> str:
    return "new" if claim["verdict"] in PASSING else "regressed"


def _turn(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return the word for a change of verdict."""
    if after["verdict"] not in PASSING:
        return "regressed"
    return "changed" if before["verdict"] in PASSING else "fixed"
