"""What all tests share."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _end_executors() -> Iterator[None]:
    """End the threads of the programs that a test ran.

    Paddle keeps the executor of each program it ever ran, with some ten threads, until the process
    ends; after some thousand programs, the process may not start another thread.
    """
    yield
    if "paddle" in sys.modules:
        sys.modules["paddle"].base.core.clear_executor_cache()
