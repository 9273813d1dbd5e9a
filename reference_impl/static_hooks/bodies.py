"""Traced or called back: what a hook's body may do decides how it runs.

A body of tensor operations alone is *traced*: it becomes operations of the backward graph, and no
Python runs in a training step. Any other body is *called back*: it runs in Python at every
backward, with real tensors. The choice is read off the body's bytecode and errs on the side of
calling back. A body is traced only if every instruction is one of straight-line code, every name
that it looks up is a tensor operation, and everything that it reaches from outside is a forward
value, a number that nothing can change any more, or a function of Paddle.
"""

from __future__ import annotations

import dis
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import paddle

from .codes import nested_in
from .errors import ForcedTraceError
from .source import BoundArguments
from .surfaces import Value

_Hook = TypeVar("_Hook", bound=Callable[..., Any])
FORCED = "__static_hooks_body__"


@dataclass(frozen=True)
class Decision:
    """How a body runs, and the reason in words."""

    traced: bool
    reason: str


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Straight-line code in CPython 3.10 to 3.13: no jumps, no stores but to locals, no imports.
_STRAIGHT_LINE = _names(
    """
    RESUME CACHE NOP EXTENDED_ARG PRECALL PUSH_NULL KW_NAMES COPY_FREE_VARS MAKE_CELL
    RETURN_VALUE RETURN_CONST POP_TOP COPY SWAP DUP_TOP ROT_TWO ROT_THREE LOAD_CONST
    LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST STORE_FAST STORE_FAST_LOAD_FAST
    STORE_FAST_STORE_FAST LOAD_DEREF LOAD_CLOSURE LOAD_GLOBAL LOAD_ATTR LOAD_METHOD CALL
    CALL_KW CALL_FUNCTION CALL_FUNCTION_KW CALL_METHOD BINARY_OP BINARY_SUBSCR BINARY_SLICE
    BUILD_SLICE BUILD_TUPLE BUILD_LIST LIST_EXTEND BUILD_CONST_KEY_MAP UNARY_NEGATIVE
    UNARY_POSITIVE UNARY_INVERT COMPARE_OP UNPACK_SEQUENCE BINARY_ADD BINARY_SUBTRACT
    BINARY_MULTIPLY BINARY_TRUE_DIVIDE BINARY_FLOOR_DIVIDE BINARY_POWER BINARY_MODULO
    BINARY_MATRIX_MULTIPLY BINARY_AND BINARY_OR BINARY_XOR
    """
)

# Operations whose result depends on their tensors alone: no randomness, no in-place change, no
# value or shape that Python could see. `shape` is missing on purpose: it is -1 when dynamic.
_OPERATIONS = _names(
    """
    T abs add add_n addmm all amax amin any argmax argmin argsort astype bmm broadcast_to
    cast ceil chunk clip clone concat cos cosh cumprod cumsum detach diag divide dot einsum
    elu equal erf exp expand expand_as expm1 flatten flip floor full_like gather gelu
    greater_equal greater_than index_select isfinite isinf isnan kron leaky_relu lerp
    less_equal less_than log log1p log2 log_softmax logical_and logical_not logical_or
    logsumexp mT masked_fill matmul max maximum mean mean_all median min minimum mm mod
    moveaxis multiply nan_to_num neg norm normalize not_equal numel ones_like outer pow prod
    reciprocal relu relu6 reshape roll round rsqrt scale sigmoid sign silu sin sinh softmax
    softplus sort split sqrt square squeeze stack std subtract sum swish t take_along_axis
    tan tanh tile topk trace transpose tril triu trunc unbind unsqueeze unstack var where
    zeros_like
    """
)
# Of these, what may return another shape. Where a dimension is dynamic, tracing can't see it.
_RESHAPING = _names(
    "addmm bmm broadcast_to chunk concat diag dot einsum expand expand_as flatten gather "
    "index_select kron matmul mm moveaxis outer reshape split squeeze stack t T take_along_axis "
    "tile topk transpose unbind unsqueeze unstack mT"
)
_NAMESPACES = _names("nn functional linalg tensor")
_DTYPES = _names("dtype float16 float32 float64 bfloat16 int32 int64 bool")
# A cell is referred to by the closure, and by the call that counts.
_UNSHARED = 2
_SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_NAMES = _OPERATIONS | _NAMESPACES | _DTYPES


@paddle.jit.marker.unified
def traced(hook: _Hook) -> _Hook:
    """Declare that a hook's body is tensor operations alone, to become graph operations.

    Args:
        hook: the hook; its gradient and result have the shape and dtype of the hooked tensor.

    Returns:
        The same hook. Registering it raises `ForcedTraceError` if the body has to run in Python.
    """
    setattr(hook, FORCED, "traced")
    return hook


@paddle.jit.marker.unified
def callback(hook: _Hook) -> _Hook:
    """Declare that a hook's body must run in Python, with real tensors, at every backward.

    Args:
        hook: the hook; it may do whatever it may do in eager mode.

    Returns:
        The same hook.
    """
    setattr(hook, FORCED, "callback")
    return hook


def decide(hook: Callable[..., Any], owner: types.FunctionType | None = None) -> Decision:
    """Decide how a body runs.

    Args:
        hook: the hook as the user wrote it (see `source.restore`).
        owner: the traced function that the hook is nested in, where there is one: its own variables
            can't change once it has been traced, unless a function nested in it rebinds them.

    Returns:
        The decision, with the first reason against tracing where there is one.

    Raises:
        ForcedTraceError: the hook is marked `@traced`, and its body can't be traced.
    """
    forced = getattr(hook, FORCED, None)
    if forced == "callback":
        return Decision(False, "marked @callback")
    reason = next(_obstacles(hook, owner), None)
    if forced == "traced" and reason:
        raise _forced_error(hook, reason)
    if reason:
        return Decision(False, reason)
    return Decision(True, "marked @traced" if forced else "tensor operations alone")


def may_reshape(hook: Callable[..., Any]) -> bool:
    """Tell whether a body that can be traced may return a tensor of another shape."""
    function = hook.function if isinstance(hook, BoundArguments) else hook
    code = getattr(function, "__func__", function).__code__
    return any(
        instruction.argval in _RESHAPING
        or instruction.opname.startswith(("BINARY_SUBSCR", "BINARY_SLICE", "BINARY_MATRIX"))
        or instruction.argrepr == "@"
        for instruction in dis.get_instructions(code)
    )


def check_forced(hook: Callable[..., Any]) -> None:
    """Refuse a `@traced` hook whose code can't be traced, whatever its variables will hold."""
    if getattr(hook, FORCED, None) == "traced" and isinstance(hook, types.FunctionType):
        for reason in _instructions(hook):
            raise _forced_error(hook, reason)


def _forced_error(hook: Callable[..., Any], reason: str) -> ForcedTraceError:
    return ForcedTraceError(
        f"@traced hook {name_of(hook)!r} must be tensor operations alone, but {reason}; "
        "take @traced off, and the hook is called back at every backward"
    )


def name_of(hook: Callable[..., Any]) -> str:
    """Name a hook for messages: its qualified name, or its type's."""
    if isinstance(hook, BoundArguments):
        return name_of(hook.function)
    return getattr(hook, "__qualname__", type(hook).__qualname__)


def _obstacles(hook: Callable[..., Any], owner: types.FunctionType | None) -> Iterator[str]:
    """Yield every reason, in words, why the body can't be traced."""
    if isinstance(hook, BoundArguments):
        yield from _constants([*hook.arguments, *hook.keywords.values()], "argument")
        hook = hook.function
    if isinstance(hook, types.MethodType):
        hook = hook.__func__
        receiver = hook.__code__.co_varnames[:1] if isinstance(hook, types.FunctionType) else ()
        for name in _locals_read(hook.__code__).intersection(receiver) if receiver else ():
            yield f"it reads state of {name!r}, which may change between steps"
    if not isinstance(hook, types.FunctionType):
        yield f"its code can't be read ({type(hook).__name__})"
        return
    if hook.__code__.co_flags & _SUSPENDS:
        yield "it is a generator or a coroutine"
    yield from _constants(
        [*(hook.__defaults__ or ()), *(hook.__kwdefaults__ or {}).values()], "default"
    )
    yield from _cells(hook, owner)
    yield from _instructions(hook)


def _locals_read(code: types.CodeType) -> set[str]:
    read: set[str] = set(code.co_cellvars)
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith(("LOAD_FAST", "STORE_FAST_LOAD")):
            names = instruction.argval
            read.update([names] if isinstance(names, str) else names)
    return read


def _constants(found: list[Any], what: str) -> Iterator[str]:
    for content in found:
        if not _is_fixed(content):
            yield f"its {what} {type(content).__name__} may change between steps"


def _is_fixed(content: Any) -> bool:
    """Tell what can't change behind the body's back: values, numbers, functions of Paddle."""
    if isinstance(content, tuple):
        return all(_is_fixed(item) for item in content)
    simple = (Value, int, float, str, type(None), paddle.dtype)
    return isinstance(content, simple) or _is_operation(content)


def _is_operation(found: Any) -> bool:
    module = getattr(found, "__module__", None) or getattr(found, "__name__", "")
    of_paddle = isinstance(module, str) and module.partition(".")[0] == "paddle"
    if isinstance(found, types.ModuleType):
        return of_paddle
    return of_paddle and callable(found) and getattr(found, "__name__", "") in _OPERATIONS


def _cells(hook: types.FunctionType, owner: types.FunctionType | None) -> Iterator[str]:
    for index, name in enumerate(hook.__code__.co_freevars):
        try:
            content = (hook.__closure__ or ())[index].cell_contents
        except ValueError:
            yield f"its free variable {name!r} is not assigned yet"
            continue
        is_module = isinstance(content, types.ModuleType) and _is_operation(content)
        if not (is_module or (_is_fixed(content) and _is_final(hook, index, owner))):
            yield f"its free variable {name!r} ({type(content).__name__}) may change between steps"


def _is_final(hook: types.FunctionType, index: int, owner: types.FunctionType | None) -> bool:
    """Tell whether nothing can rebind a free variable of `hook` any more."""
    if owner is None:  # no frame and no other function may hold the cell
        return sys.getrefcount((hook.__closure__ or ())[index]) <= _UNSHARED
    name = hook.__code__.co_freevars[index]
    return name not in owner.__code__.co_freevars and name not in nested_in(owner).rebound


def _instructions(hook: types.FunctionType) -> Iterator[str]:
    for instruction in dis.get_instructions(hook.__code__):
        operation, name = instruction.opname, instruction.argval
        if operation not in _STRAIGHT_LINE:
            yield f"it is not straight-line code ({operation.lower()})"
        elif operation == "LOAD_GLOBAL":
            if not _is_operation(hook.__globals__.get(name)):
                yield f"it reads the global {name!r}, which may change between steps"
        elif operation in ("LOAD_ATTR", "LOAD_METHOD") and name not in _NAMES:
            yield f"it uses {name!r}, which is not known to be a tensor operation"
        elif operation == "BINARY_OP" and instruction.argrepr.endswith("="):
            yield f"it may change a tensor in place ({instruction.argrepr})"
    # The names of a call's arguments are a constant, in every Python.
    if any(isinstance(found, tuple) and "out" in found for found in hook.__code__.co_consts):
        yield "it may write into a tensor (out=)"
