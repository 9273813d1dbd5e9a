"""Make a failing program small: take lines away for as long as it fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .lines import Line, Program, count, source_of

_TRIES = 1500


def shrink(program: Program, still_fails: Callable[[Program], bool]) -> Program:
    """Return a smaller program that still fails.

    Args:
        program: one that fails.
        still_fails: runs a candidate.
    """
    seen = {source_of(program)}
    size = max(count(program) // 4, 1)
    while size:
        smaller = _first(_candidates(program, size), seen, still_fails)
        if smaller is not None:
            program = smaller
        elif size > 1:
            size //= 2
        else:
            break
        if len(seen) > _TRIES:
            break
    return program


def _first(
    candidates: Iterator[Program], seen: set[str], still_fails: Callable[[Program], bool]
) -> Program | None:
    for candidate in candidates:
        text = source_of(candidate)
        if text not in seen and _compiles(text):
            seen.add(text)
            if still_fails(candidate):
                return candidate
    return None


def _compiles(text: str) -> bool:
    try:
        compile(text, "<candidate>", "exec")
    except SyntaxError:
        return False
    return True


def _candidates(block: Program, size: int) -> Iterator[Program]:
    """Yield the block without `size` lines in a row, later ones first; then simpler lines."""
    for end in range(len(block), 0, -size):
        yield block[: max(end - size, 0)] + block[end:]
    for index in reversed(range(len(block))):
        before, item, after = block[:index], block[index], block[index + 1 :]
        for body in _candidates(item.body, min(size, max(len(item.body), 1))):
            yield (*before, replace(item, body=body), *after)
        if size == 1:
            for changed in _simpler(item):
                yield (*before, *changed, *after)


def _simpler(item: Line) -> Iterator[Program]:
    if item.is_flow:
        yield item.body
    for text in item.simpler:
        yield (replace(item, text=text, simpler=()),)
