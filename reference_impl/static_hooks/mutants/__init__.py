"""Deliberately wrong designs of this package: a claim that none of them turns red proves nothing.

Each mutant replaces a few attributes for the time of a `with` block, and edits no file. Some are
wrong designs that were really built or proposed; these name the public source.
"""

from . import bodies, boundaries, firing, refusals, sot
from .registry import MUTANTS, Mutant

__all__ = ["MUTANTS", "Mutant", "bodies", "boundaries", "firing", "refusals", "sot"]
