"""Every mutant fits what it replaces, so that it is wrong by design and not by accident."""

from __future__ import annotations

import builtins
import inspect

import pytest
from static_hooks import mutants
from static_hooks.mutants import MUTANTS
from static_hooks.mutants.registry import WHEN_RAISED, when, when_result

MODULES = list(filter(inspect.ismodule, vars(mutants).values()))
FUNCTIONS = [
    pytest.param(getattr(module, name.replace("-", "_")), id=name)
    for name in MUTANTS
    for module in MODULES
    if hasattr(module, name.replace("-", "_"))
]


def test_there_are_enough():
    """Every mutant is found by the tests below, and there are at least twenty."""
    assert len(MUTANTS) == len(FUNCTIONS)
    assert len(MUTANTS) >= 20


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_replaces_takes_the_same_arguments(function):
    """A replacement can be called as what it replaces: otherwise everything would just raise."""
    for owner, attribute, new, *_ in function():
        old = getattr(owner, attribute, None) or getattr(builtins, attribute)
        if isinstance(old, type):
            assert isinstance(new, type)
            continue
        wanted = inspect.signature(old).parameters.values()
        needed = [p for p in wanted if p.default is p.empty]
        for count in range(len(needed), len(wanted) + 1):
            inspect.signature(new).bind(*range(count))


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_leaves_nothing_behind(name):
    """When its context ends, what it replaced is there again, and so is what was watched."""
    before = _replaced(name)
    with MUTANTS[name].apply():
        assert before != _replaced(name)
    with MUTANTS[name].watch(lambda: None):
        pass
    assert before == _replaced(name)


def _replaced(name):
    function = next(param.values[0] for param in FUNCTIONS if param.id == name)
    return [getattr(owner, attribute, None) for owner, attribute, *_ in function()]


@pytest.mark.parametrize(
    ("watcher", "argument", "used"),
    [
        (when(), 1, 1),
        (when(lambda number: number > 1), 1, 0),
        (when(lambda number: number > 1), 2, 1),
        (when_result(lambda result: result > 5), 2, 0),
        (when_result(lambda result: result > 4), 2, 1),
        (WHEN_RAISED, 2, 0),
        (WHEN_RAISED, 0, 1),
    ],
)
def test_a_watched_function_tells_when_the_mutant_would_differ(watcher, argument, used):
    """A call whose arguments, result or exception make the difference is told, others are not."""
    told = []

    def ten_over(number):
        return 10 // number

    watched = watcher(ten_over, lambda: told.append(1))
    if argument:
        assert 10 // argument == watched(argument)
    else:
        with pytest.raises(ZeroDivisionError):
            watched(argument)
    assert used == len(told)
