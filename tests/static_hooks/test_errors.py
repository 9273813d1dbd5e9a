"""The errors of the package are one tree, and each is also the built-in error that it refines."""

import pytest
from static_hooks import errors


def test_tree() -> None:
    """Every error that a user can meet is in the tree that the module draws, and exported."""
    import static_hooks

    drawn = {
        errors.StaticHooksError: (Exception,),
        errors.HookUsageError: (errors.StaticHooksError,),
        errors.HookTypeError: (errors.HookUsageError, TypeError),
        errors.HookValueError: (errors.HookUsageError, ValueError),
        errors.ForcedTraceError: (errors.HookUsageError, ValueError),
        errors.UnsupportedHookError: (errors.StaticHooksError, NotImplementedError),
        errors.UnknownPaddleError: (errors.StaticHooksError, RuntimeError),
    }
    assert drawn == {error: error.__bases__ for error in drawn}
    assert set(drawn) == {
        found
        for found in vars(static_hooks).values()
        if isinstance(found, type) and issubclass(found, BaseException)
    } | {errors.HookUsageError}
    names = [error.__name__ for error in drawn]
    assert [] == [name for name in names if name not in (errors.__doc__ or "")]


def test_abort_is_no_error_of_the_tree() -> None:
    """What stops Paddle's executor is not for users to catch."""
    assert not issubclass(errors.HookAbortedError, errors.StaticHooksError)


def test_note() -> None:
    """A note is added to those that are there, on a Python that does not know notes as well."""
    error = ValueError("text")
    errors.add_note(error, "first")
    errors.add_note(error, "second")
    assert ["first", "second"] == error.__notes__  # type: ignore[attr-defined]
    assert ("text",) == error.args


def test_note_without_support() -> None:
    """On Python 3.10 the note is kept where later Pythons keep it."""

    class Old(Exception):  # noqa: N818 - stands for an exception of Python 3.10
        add_note = property()

    error = Old("text")
    with pytest.raises(AttributeError):
        error.add_note("x")
    errors.add_note(error, "first")
    errors.add_note(error, "second")
    assert ["first", "second"] == error.__notes__
