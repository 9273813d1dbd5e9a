"""The tensor operations of random programs, as text with places for their operands."""

# Numbers that float32 holds exactly: static graphs keep an operation's constants in float32.
UNARY = (
    "paddle.tanh({a})",
    "paddle.sigmoid({a})",
    "paddle.sin({a})",
    "paddle.exp(paddle.tanh({a}))",
    "paddle.clip({a}, -1.5, 1.5)",
    "paddle.nn.functional.relu({a})",
    "paddle.nn.functional.softplus({a})",
    "paddle.nn.functional.gelu({a})",
    "paddle.scale({a}, 0.75, 0.125)",
    "{a} * {a}",
    "{a} * 1.25",
    "{a} + 0.25",
    "1.0 - {a}",
    "-{a}",
    "0.5 / ({a} * {a} + 1.0)",
    "{a}.abs()",
    "{a}.clone()",
)
BINARY = (
    "{a} + {b}",
    "{a} - {b}",
    "{a} * {b}",
    "{a} * {b} + {a}",
    "{a} / ({b} * {b} + 1.0)",
    "paddle.maximum({a}, {b})",
    "paddle.multiply({a}, {b}) - {b}",
    "paddle.add_n([{a}, {b}, {a}])",
    "paddle.where({b} > 0.125, {a}, {b})",
)
BROADCAST = ("{a} + {b}", "{a} * {b}", "{b} - {a}", "paddle.subtract({a}, {b})")
IN_PLACE = (
    "paddle.tanh_({a})",
    "{a}.scale_(0.875)",
    "{a}.add_({b})",
    "{a}.subtract_({b})",
    "{a}.exp_()",
)
REDUCE = (
    "{a}.sum(axis={axis})",
    "{a}.mean(axis={axis})",
    "paddle.logsumexp({a}, axis={axis})",
)
