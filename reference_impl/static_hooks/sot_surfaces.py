"""Every private surface of SOT that this package reads or calls; see `surfaces`."""

from __future__ import annotations

import paddle

from .errors import UnknownPaddleError

try:
    from paddle.base.framework import _dygraph_guard as tracer_guard
    from paddle.jit.sot import translate
    from paddle.jit.sot.infer_meta import (
        InferMetaCache,
        LayerInferMetaCache,
        VariableCreator,
    )
    from paddle.jit.sot.opcode_translator.executor import pycode_generator
    from paddle.jit.sot.opcode_translator.executor.function_graph import (
        FunctionGraph,
        record_symbols,
    )
    from paddle.jit.sot.opcode_translator.executor.guard import (
        StringifiedExpression,
        object_equal_faster_guard,
        object_equal_stringified_guard,
    )
    from paddle.jit.sot.opcode_translator.executor.mutable_data import MutationDel
    from paddle.jit.sot.opcode_translator.executor.opcode_executor import (
        OpcodeExecutor,
        OpcodeExecutorBase,
    )
    from paddle.jit.sot.opcode_translator.executor.opcode_inline_executor import (
        inline_for_iter_impl,
    )
    from paddle.jit.sot.opcode_translator.executor.tracker import (
        DummyTracker,
        GetAttrTracker,
        Tracker,
    )
    from paddle.jit.sot.opcode_translator.executor.variables.base import (
        VariableBase,
        VariableFactory,
    )
    from paddle.jit.sot.opcode_translator.executor.variables.basic import (
        CellVariable,
        ConstantVariable,
        GlobalVariable,
        ModuleVariable,
        ObjectVariable,
        TensorVariable,
    )
    from paddle.jit.sot.opcode_translator.executor.variables.callable import (
        CallableVariable,
        ClassVariable,
        FunctionVariable,
        LayerVariable,
        MethodVariable,
        PaddleApiVariable,
        PartialVariable,
        TensorFunctionVariable,
        UserDefinedFunctionVariable,
    )
    from paddle.jit.sot.opcode_translator.executor.variables.container import (
        ContainerVariable,
        NamedTupleVariable,
    )
    from paddle.jit.sot.opcode_translator.executor.variables.iter import (
        IterVariable,
        UserDefinedIterVariable,
    )
    from paddle.jit.sot.opcode_translator.instruction_utils import (
        analysis_used_names,
        gen_instr,
    )
    from paddle.jit.sot.symbolic.statement_ir import Statement, StatementIR, Symbol
    from paddle.jit.sot.utils import flatten_extend, no_eval_frame
    from paddle.jit.sot.utils.exceptions import ConditionalFallbackError, FallbackError
except ImportError as error:
    raise UnknownPaddleError(
        f"static_hooks: Paddle must be 3.3, but got {paddle.__version__}, where {error}; "
        "install paddlepaddle==3.3.*"
    ) from error

__all__ = [
    "CallableVariable",
    "CellVariable",
    "ClassVariable",
    "ConditionalFallbackError",
    "ConstantVariable",
    "ContainerVariable",
    "DummyTracker",
    "FallbackError",
    "FunctionGraph",
    "FunctionVariable",
    "GetAttrTracker",
    "GlobalVariable",
    "InferMetaCache",
    "IterVariable",
    "LayerInferMetaCache",
    "LayerVariable",
    "MethodVariable",
    "ModuleVariable",
    "MutationDel",
    "NamedTupleVariable",
    "ObjectVariable",
    "OpcodeExecutor",
    "OpcodeExecutorBase",
    "PaddleApiVariable",
    "PartialVariable",
    "Statement",
    "StatementIR",
    "StringifiedExpression",
    "Symbol",
    "TensorFunctionVariable",
    "TensorVariable",
    "Tracker",
    "UserDefinedFunctionVariable",
    "UserDefinedIterVariable",
    "VariableBase",
    "VariableCreator",
    "VariableFactory",
    "analysis_used_names",
    "flatten_extend",
    "gen_instr",
    "inline_for_iter_impl",
    "no_eval_frame",
    "object_equal_faster_guard",
    "object_equal_stringified_guard",
    "pycode_generator",
    "record_symbols",
    "tracer_guard",
    "translate",
]
