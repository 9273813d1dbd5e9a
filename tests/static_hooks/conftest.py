"""What the tests of the core share: hooks enabled for a test, every attribute back after it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from static_hooks import patches


def surface() -> dict[str, Any]:
    """Return every object that `enable` replaces, as it is now."""
    return {p.name: inspect.getattr_static(p.owner, p.attribute) for p in patches.PATCHES}


@pytest.fixture
def hooks() -> Iterator[None]:
    """Enable hooks for a test, and see that disabling puts back the very objects."""
    before = surface()
    patches.enable()
    try:
        yield
    finally:
        patches.disable()
    assert [] == [name for name, found in surface().items() if found is not before[name]]
