"""The values of a program are objects of their own, which no other program's can be taken for."""

import gc
import weakref
from typing import Any

import paddle
import pytest
from static_hooks import HookTypeError
from static_hooks.surfaces import RunnableProgram, parameter_recorder
from static_hooks.values import every_value

pytestmark = [
    pytest.mark.usefixtures("hooks"),
    pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface"),
]


def square(x: paddle.Tensor) -> paddle.Tensor:
    """A program whose backward half takes values from the forward half."""
    return x * x


def looping(x: paddle.Tensor) -> paddle.Tensor:
    """A program with a loop, whose body has arguments."""
    while x.sum() < 10:
        x = x + 1
    return x


def traced(function: Any) -> Any:
    """Trace a function, and return what Paddle keeps of it."""
    static = paddle.jit.to_static(function, full_graph=True)
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    static(x).sum().backward() if function is square else static(x)
    return static.get_concrete_program(x)


def test_listing_values_leaves_no_garbage() -> None:
    """The values that Paddle looks up names in are let go at once, not by a later collection."""
    backward = traced(square)[1].program.backward_program
    gc.collect()
    gc.disable()
    try:
        values = RunnableProgram._get_program_all_values(backward)
        kwargs = len(backward.global_block().kwargs())
        first = weakref.ref(values[0])
        assert 0 < kwargs < len(values)
        del values
        assert first() is None
    finally:
        gc.enable()


def test_keyword_arguments_are_copied() -> None:
    """A keyword argument is the block's value, but not the block's object."""
    backward = traced(square)[1].program.backward_program
    block = backward.global_block()
    references = list(block.kwargs().values())
    copies = RunnableProgram._get_program_all_values(backward)[: len(references)]
    assert [True] * len(references) == [
        copy.is_same(reference) for copy, reference in zip(copies, references, strict=True)
    ]
    assert [] == [c for c, r in zip(copies, references, strict=True) if c is r]


def test_arguments_of_a_loop_are_copied() -> None:
    """So is the argument of a loop's body; and a clone has as many values."""
    program = traced(looping)[0].main_program
    loop = next(op for op in program.global_block().ops if op.name() == "pd_op.while")
    body = next(iter(loop.blocks()))
    values = list(every_value(program))
    for argument in body.args():
        assert [argument.name] == [v.name for v in values if v.is_same(argument)]
        assert [] == [v for v in values if v is argument]
    clone = paddle.base.libpaddle.pir.clone_program(program)[0]
    assert len(values) == len(list(every_value(clone)))


def test_a_trace_that_fails_leaves_no_values() -> None:
    """No later program can take the parameters' values of a trace that failed for its own."""
    recorder = parameter_recorder._global_parameter_recorder
    before = set(recorder.tensor2value)
    layer = paddle.nn.Linear(2, 2)

    def failing(x: paddle.Tensor) -> paddle.Tensor:
        y = layer(x)
        y.register_hook("not a hook")
        return y

    static = paddle.jit.to_static(failing, full_graph=True)
    with pytest.raises(HookTypeError):
        static(paddle.to_tensor([[1.0, 2.0]]))
    assert before == set(recorder.tensor2value)
    assert before == set(recorder.params_dict)
