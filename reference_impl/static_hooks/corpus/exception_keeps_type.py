"""An exception in a body reaches the caller of `backward()` as it was raised, with a note."""

import traceback

import paddle

from . import Case, Safer, Scenario, converted

OSERROR = "eager mode turns any exception of a hook into an OSError with a text of many lines"


class ModelError(Exception):
    """An exception of the user's own."""


def raises(x):
    """The body raises a ValueError."""

    def hook(gradient):
        raise ValueError("gradient is too large")

    y = 2 * x
    y.register_hook(hook)
    return 3 * y


def raises_its_own_type(x):
    """The body raises an exception of the user's own."""

    def hook(gradient):
        raise ModelError("no such luck")

    y = 2 * x
    y.register_hook(hook)
    return 3 * y


def an_operation_fails(x):
    """The body asks for an impossible operation."""

    def hook(gradient):
        return gradient.reshape([7])

    y = 2 * x
    y.register_hook(hook)
    return 3 * y


def a_name_is_missing(x):
    """The body has a typing error."""
    y = 2 * x
    y.register_hook(lambda g: g * no_such_name)  # noqa: F821
    return 3 * y


def wrong_arity(x):
    """The body takes two arguments."""
    y = 2 * x
    y.register_hook(lambda g, h: g)
    return 3 * y


def _failing_once(mode, error):
    fail = [True]

    def function(x):
        def hook(gradient):
            if fail.pop():
                raise error
            return gradient * gradient

        y = 2 * x
        y.register_hook(hook)
        return 3 * y

    return converted(function, mode), fail


def the_next_step_works(mode):
    """After an exception, forward and backward run as if nothing had been."""
    run, fail = _failing_once(mode, ValueError("once"))
    x = paddle.to_tensor([1.0], stop_gradient=False)
    caught = ""
    try:
        run(x).sum().backward()
    except Exception as error:
        caught = type(error).__name__
    fail.append(False)
    x.clear_gradient()
    run(x).sum().backward()
    return [caught, x.grad.tolist()]


def an_interrupt(mode):
    """Ctrl-C in a body is a KeyboardInterrupt for the caller too."""
    run, _ = _failing_once(mode, KeyboardInterrupt())
    x = paddle.to_tensor([1.0], stop_gradient=False)
    try:
        run(x).sum().backward()
    except BaseException as error:
        return type(error).__name__
    return "nothing"


def the_note_names_hook_and_line(mode):
    """The traceback ends in the body, and a note says which hook and where it was registered."""

    def function(x):
        def clip_or_fail(gradient):
            raise ValueError("too large")

        y = 2 * x
        y.register_hook(clip_or_fail)
        return 3 * y

    x = paddle.to_tensor([1.0], stop_gradient=False)
    try:
        converted(function, mode)(x).sum().backward()
    except Exception as error:
        notes = " ".join(getattr(error, "__notes__", []))
        inner = traceback.extract_tb(error.__traceback__)[-1].name
        return [
            inner == "clip_or_fail",
            "clip_or_fail" in notes,
            "exception_keeps_type.py" in notes,
        ]
    return []


ENTRIES = [
    Case(
        raises,
        ([1.0],),
        error="OSError: (External) ValueError: gradient is too large",
        safer=Safer(OSERROR, error="ValueError: gradient is too large"),
    ),
    Case(
        raises_its_own_type,
        ([1.0],),
        error="OSError: (External) ModelError: no such luck",
        safer=Safer(OSERROR, error="ModelError: no such luck"),
    ),
    Case(
        an_operation_fails,
        ([1.0],),
        error="OSError: (External) ValueError: (InvalidArgument)",
        safer=Safer(OSERROR, error="ValueError: (InvalidArgument)"),
    ),
    Case(
        a_name_is_missing,
        ([1.0],),
        error="OSError: (External) NameError: name 'no_such_name' is not defined",
        safer=Safer(OSERROR, error="NameError: name 'no_such_name' is not defined"),
    ),
    Case(
        wrong_arity,
        ([1.0],),
        error="OSError: (External) TypeError",
        safer=Safer(OSERROR, error="TypeError"),
    ),
    Scenario(
        the_next_step_works,
        ["OSError", [18.0]],
        safer=Safer(OSERROR, result=["ValueError", [18.0]]),
    ),
    Scenario(an_interrupt, "OSError", safer=Safer(OSERROR, result="KeyboardInterrupt")),
    Scenario(
        the_note_names_hook_and_line,
        [False, False, False],
        safer=Safer(OSERROR, result=[True, True, True]),
    ),
]
