"""The net's training program twice: with hooks, and with the hooks' operations written by hand.

Both are plain static programs; build and run them while static mode is on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle

from .nets import BATCH, WIDTH, Net, halve


def step_with_hooks() -> tuple[Callable[[], Any], Counter[str]]:
    """Build the program from a net that registers hooks; return its step and its operations."""

    def gradients(net: Net, x: Any, parameters: list[Any]) -> list[Any]:
        return paddle.static.gradients([net(x)], parameters)

    return _built(gradients, lambda: Net(halve))


def step_by_hand() -> tuple[Callable[[], Any], Counter[str]]:
    """Build it without hooks, one layer's gradients at a time, and halve them in between."""

    def gradients(net: Net, x: Any, parameters: list[Any]) -> list[Any]:
        outputs = [x]
        for layer in net.layers:
            outputs.append(paddle.tanh(layer(outputs[-1])))
        last = outputs[-1]
        (gradient,) = paddle.static.gradients([(last * last).mean()], [last])
        found: list[Any] = []
        for layer, before, after in zip(
            reversed(net.layers), reversed(outputs[:-1]), reversed(outputs[1:]), strict=True
        ):
            wanted = [layer.weight, layer.bias, *([] if before is x else [before])]
            mine = paddle.static.gradients([after], wanted, target_gradients=[halve(gradient)])
            found = [*mine[:2], *found]
            gradient = mine[-1]
        return found

    return _built(gradients, Net)


def _built(
    gradients: Callable[[Net, Any, list[Any]], list[Any]], make: Callable[[], Net]
) -> tuple[Callable[[], Any], Counter[str]]:
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        net = make()
        x = paddle.static.data("x", [BATCH, WIDTH])
        wanted = gradients(net, x, net.parameters())
    executor = paddle.static.Executor()
    executor.run(startup)
    feed = {"x": np.ones([BATCH, WIDTH], np.float32)}
    operations = Counter(operation.name() for operation in main.global_block().ops)

    def step() -> Any:
        return executor.run(main, feed=feed, fetch_list=wanted, return_numpy=False)

    return step, operations
