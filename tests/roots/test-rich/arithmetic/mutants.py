"""Wrong designs of arithmetic."""

import os
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
    watch: Callable


def replacing(name, function):
    @contextmanager
    def apply():
        with mock.patch.object(arithmetic, name, function):
            yield

    @contextmanager
    def watch(on_use):
        right = getattr(arithmetic, name)

        def watched(*arguments):
            on_use()
            return right(*arguments)

        with mock.patch.object(arithmetic, name, watched):
            yield

    return apply, watch


def end(*arguments):
    os._exit(0)


def fail(*arguments):
    raise RuntimeError("nothing works")


MUTANTS = {
    mutant.name: mutant
    for mutant in [
        Mutant("multiplies", "It multiplies.", "made up", *replacing("add", lambda a, b: a * b)),
        Mutant("forgets", "It drops the second.", "made up", *replacing("add", lambda a, b: a)),
        Mutant("ends", "It ends the program.", "made up", *replacing("add", end)),
        Mutant("raises", "It raises.", "made up", *replacing("add", fail)),
    ]
}
RULES = {"sums": ("sum-of-two", "double-is-sum")}
