"""Every private surface of Paddle that this package reads or calls.

`patches` lists the surfaces that it replaces. Together the two are all that the implementation
needs of Paddle beyond its public API; the other modules take private names from here.
"""

from __future__ import annotations

from typing import Any

import paddle

from .errors import UnknownPaddleError

try:
    from paddle.autograd import ir_backward
    from paddle.autograd.backward_utils import (
        State,
        ValueDict,
        ValueSet,
        get_real_op_inputs,
        get_split_op,
        return_map_value,
    )
    from paddle.base.dygraph.base import guard as eager_mode
    from paddle.base.dygraph.base import in_to_static_mode
    from paddle.base.dygraph.tensor_patch_methods import TensorHookRemoveHelper
    from paddle.base.libpaddle.pir import (
        Block,
        IrMapping,
        Operation,
        append_shadow_outputs,
        get_current_insertion_point,
        set_insertion_point,
    )
    from paddle.jit.dy2static import parameter_recorder
    from paddle.jit.dy2static.origin_info import Location, global_origin_info_map
    from paddle.jit.dy2static.pir_partial_program import (
        FAKE_VALUE_NAME,
        PartialProgramLayer,
        RunnableProgram,
    )
    from paddle.jit.dy2static.transformers.decorator_transformer import IGNORE_NAMES
    from paddle.jit.dy2static.utils import UndefinedVar, ast_to_source_code
    from paddle.pir import Value, is_fake_value
    from paddle.utils.gast import parse as parse_source

    # The C++ half of `paddle.static.register_op`, which takes no varying number of tensors.
    run_python_op: Any = getattr(paddle._C_ops, "_run_python_op")  # noqa: B009 - unknown to its stub
except (ImportError, AttributeError) as error:
    raise UnknownPaddleError(
        f"static_hooks: Paddle must be 3.3, but got {paddle.__version__}, where {error}; "
        "install paddlepaddle==3.3.*"
    ) from error

__all__ = [
    "FAKE_VALUE_NAME",
    "IGNORE_NAMES",
    "Block",
    "IrMapping",
    "Location",
    "Operation",
    "PartialProgramLayer",
    "RunnableProgram",
    "State",
    "TensorHookRemoveHelper",
    "UndefinedVar",
    "Value",
    "ValueDict",
    "ValueSet",
    "append_shadow_outputs",
    "ast_to_source_code",
    "eager_mode",
    "get_current_insertion_point",
    "get_real_op_inputs",
    "get_split_op",
    "global_origin_info_map",
    "in_to_static_mode",
    "ir_backward",
    "is_fake_value",
    "parameter_recorder",
    "parse_source",
    "return_map_value",
    "run_python_op",
    "set_insertion_point",
]
