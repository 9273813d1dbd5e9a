"""Wrong designs of arithmetic."""

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Callable
from unittest import mock

import arithmetic


@dataclass
class Mutant:
    name: str
    summary: str
    source: str
    apply: Callable


def replacing(name, function):
    @contextmanager
    def apply():
        with mock.patch.object(arithmetic, name, function):
            yield

    return apply


def fail(*arguments):
    raise SystemExit("nothing works")


MUTANTS = {
    mutant.name: mutant
    for mutant in [
        Mutant("multiplies", "It multiplies.", "made up", replacing("add", lambda a, b: a * b)),
        Mutant("forgets", "It drops the second.", "made up", replacing("add", lambda a, b: a)),
        Mutant("ends", "It ends the program.", "made up", replacing("add", fail)),
    ]
}
RULES = {"sums": ("sum-of-two", "double-is-sum")}
