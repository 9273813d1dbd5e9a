"""Draw the training program of a static graph: forward down the left, backward up the right.

The picture is made from the program that Paddle runs, operation for operation. Constants that only
parametrise an operation are written into its name, and between the halves only the edges of what
hooks capture are drawn. Colours are the page's, light or dark.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import paddle
from paddle.autograd.backward_utils import ValueDict
from paddle.base.libpaddle.pir import Operation
from paddle.jit.dy2static.pir_partial_program import RunnableProgram

_PADDLE = str(Path(paddle.__file__).parent)
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 116, 42, 8, 26, 8
_LETTERS = 20  # of small print, in a box
_FOLDED = ("builtin.combine", "builtin.split", "builtin.slice", "pd_op.full")
# Themes put a light ground behind outputs in dark mode; these colours follow the theme themselves.
_PAGE = """.text_html:has(> .program) { background: none !important; padding: 0 !important }
.program > div { overflow-x: auto }"""
_FONT = "var(--pst-font-family-base, system-ui, sans-serif)"
_INK = "var(--pst-color-text-base, CanvasText)"
_MUTED = "var(--pst-color-text-muted, GrayText)"
_SURFACE = "var(--pst-color-surface, Canvas)"
_HOOK_SURFACE = "var(--pst-color-warning-bg, #fff3cd)"
_EDGE = {
    "forward": "var(--pst-color-text-muted, GrayText)",
    "backward": "var(--pst-color-primary, GrayText)",
    "hook": "var(--pst-color-warning, #b35900)",
}


@dataclass(eq=False)
class Node:
    """One operation of the picture.

    Attributes:
        name: The operation, with the constants that parametrise it.
        source: The line of the user's code that made it; empty where there is none.
        role: "forward", "backward", or "hook" for an operation of a hook's body.
        inputs: The operations whose results it takes.
        row, column: Where it stands in its half; column 0 is the middle.
    """

    name: str
    source: str
    role: str
    inputs: list[Node] = field(default_factory=list)
    row: int = 0
    column: float = 0.0

    @property
    def half(self) -> str:
        """The half that it stands in: hooks are part of the backward one."""
        return "forward" if self.role == "forward" else "backward"


@dataclass(frozen=True, eq=False)
class Drawing:
    """A picture of a training program; notebooks show it as SVG, other readers as text.

    Attributes:
        title: What the picture shows.
        nodes: Its operations, in the order of the program.
    """

    title: str
    nodes: tuple[Node, ...]

    @property
    def hooks(self) -> tuple[str, ...]:
        """The operations that hooks' bodies became, in the order of the program."""
        return tuple(node.name for node in self.nodes if node.role == "hook")

    def __repr__(self) -> str:
        lines = [self.title]
        for node in self.nodes:
            mark = {"forward": " ", "backward": "'", "hook": "*"}[node.role]
            taken = ", ".join(before.name for before in node.inputs)
            lines.append(f" {mark} {node.name}" + (f" <- {taken}" if taken else ""))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        svg = ET.tostring(_svg(self), encoding="unicode")
        return (
            f'<style>{_PAGE}</style><figure class="program"><div tabindex="0">{svg}</div>'
            f"<figcaption>{html.escape(self.title)}</figcaption></figure>"
        )


def draw(function: Callable[..., Any], *inputs: Any, title: str = "") -> Drawing:
    """Draw the program that `paddle.jit.to_static` trains `function` with.

    Args:
        function: A function or a Layer; traced as one graph, whether or not it has been before.
        inputs: What it is called with; a gradient flows to inputs that don't stop it.
        title: What the picture shows; the function's name, if not given.
    """
    static = paddle.jit.to_static(function, full_graph=True)
    called = static.forward if isinstance(static, paddle.nn.Layer) else static
    _, layer = called.get_concrete_program(*inputs)
    title = title or getattr(function, "__name__", type(function).__name__)
    return Drawing(title, tuple(_nodes(layer.train_program)))


def _nodes(runnable: RunnableProgram) -> Iterator[Node]:
    """Yield a node for each operation of a training program that is shown."""
    boundary = runnable.forward_range[1]
    gradients = dict(zip(runnable.x_grad_names, map(_short, runnable.x_names), strict=True))
    gradients.update(zip(runnable.p_grad_names, runnable.param_names, strict=True))
    shown = ValueDict()
    for index, op in enumerate(runnable.program.global_block().ops):
        sources = [before for v in op.operands_source() for before in shown.get(v, [])]
        inputs = list(dict.fromkeys(sources))
        kind = op.name().partition(".")[2]
        half = "forward" if index < boundary else "backward"
        results = inputs
        if kind == "shadow_output":
            label = gradients.get(op.attrs()["output_name"], "")
            if label or half == "forward":
                yield Node("gradient" if label else "result", label and f"of {label}", half, inputs)
        elif op.name() not in _FOLDED:
            node = _node(op, kind, half)
            across = node.role == "hook" or kind == "full_like"
            node.inputs = [i for i in inputs if across or i.half == half]
            yield node
            results = [node]
        for result in op.results():
            shown[result] = results


def _short(name: str) -> str:
    # Tracing gives the first input x the name _jst.0.x.0.
    return re.sub(r"^_jst\.\d+\.(.*)\.0$", r"\1", name)


def _node(op: Operation, kind: str, half: str) -> Node:
    if op.name().startswith("py_op."):  # its attributes can't be read
        return Node("Python callback", "the hook's body", half if half == "forward" else "hook")
    attributes = op.attrs()
    if kind == "data":
        return Node(_short(attributes["name"]), "input", half)
    if kind == "parameter":
        return Node(attributes["parameter_name"], "parameter", half)
    if kind == "full_like" and half == "backward":
        return Node("gradient", "of the result", half)
    source, in_hook = _origin(attributes.get("op_callstack") or [])
    constants = [f"{number:g}" for number in _constants(op)]
    name = f"{kind}({', '.join(constants)})" if constants else kind
    role = "hook" if half == "backward" and in_hook else half
    return Node(name, source if role != "backward" else "", role)


def _constants(op: Operation) -> list[float]:
    makers = [value.get_defining_op() for value in op.operands_source()]
    return [m.attrs()["value"] for m in makers if m is not None and m.name() == "pd_op.full"]


def _origin(callstack: Sequence[str]) -> tuple[str, bool]:
    """Return the line of user code that made an operation, and whether the builder called it.

    The stack has places and lines of code in turn, the outermost first.
    """
    frames = list(zip(callstack[::2], callstack[1::2], strict=False))
    for place, line in reversed(frames):
        if "ir_backward.py" in place:
            return "", False
        if _PADDLE not in place:
            return line.strip().removeprefix("return "), True
    return "", False


def _arrange(nodes: Sequence[Node]) -> list[Node]:
    """Return copies with rows and columns, and a lane wherever an edge crosses a row."""
    copies: dict[Node, Node] = {}
    for node in nodes:
        copies[node] = replace(node, inputs=[copies[before] for before in node.inputs])
    placed = list(copies.values())
    for node in placed:
        node.row = max((i.row + 1 for i in node.inputs if i.half == node.half), default=0)
    for node in placed:  # what has no inputs stands just before its first use
        if not node.inputs and node.half == "forward":
            node.row = min((n.row for n in placed if node in n.inputs), default=1) - 1
    lanes = [lane for node in placed for lane in _lanes(node)]
    rows: dict[tuple[str, int], list[Node]] = {}
    for node in sorted(placed + lanes, key=lambda node: node.row):
        rows.setdefault((node.half, node.row), []).append(node)
    for row in rows.values():
        row.sort(key=_centre)
        for column, node in enumerate(row):
            node.column = column - (len(row) - 1) / 2
    return placed + lanes


def _lanes(node: Node) -> Iterator[Node]:
    """Yield, for every edge to `node` that crosses rows, a nameless node in each of them."""
    for index, before in enumerate(node.inputs):
        if before.half == node.half:
            for row in range(before.row + 1, node.row):
                before = Node("", "", node.half, [before], row)
                yield before
            node.inputs[index] = before


def _centre(node: Node) -> float:
    columns = [before.column for before in node.inputs if before.half == node.half]
    return sum(columns) / len(columns) if columns else 0.0


def _svg(drawing: Drawing) -> ET.Element:
    nodes = _arrange(drawing.nodes)
    slot = _WIDTH + _GAP_X
    widths = {"forward": 0.0, "backward": 0.0}
    lengths = {"forward": 0, "backward": 0}
    for node in nodes:
        widths[node.half] = max(widths[node.half], 2 * abs(node.column) + 1)
        lengths[node.half] = max(lengths[node.half], node.row + 1)
    rows = max(lengths.values())
    width = sum(widths.values()) * slot + 2 * _MARGIN
    height = rows * (_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _MARGIN
    svg = ET.Element("svg", xmlns="http://www.w3.org/2000/svg", role="img")
    svg.set("viewBox", f"0 0 {width:g} {height}")
    svg.set("style", f"width: 100%; min-width: {min(width, 340):g}px; max-width: {width:g}px")
    ET.SubElement(svg, "title").text = drawing.title
    ET.SubElement(svg, "desc").text = _description(drawing)
    left = widths["forward"] * slot
    centres = {"forward": left / 2, "backward": left + widths["backward"] * slot / 2}
    first = {"forward": rows - lengths["forward"], "backward": rows - 1}

    def place(node: Node) -> tuple[float, float]:
        row = first[node.half] + (node.row if node.half == "forward" else -node.row)
        x = _MARGIN + centres[node.half] + node.column * slot
        return x, _MARGIN + row * (_HEIGHT + _GAP_Y) + _HEIGHT / 2

    for node in nodes:
        for before in node.inputs:
            _edge(svg, before, node, place(before), place(node))
    for node in nodes:
        if node.name:
            _box(svg, node, *place(node))
    return svg


def _edge(
    svg: ET.Element, before: Node, node: Node, start: tuple[float, float], end: tuple[float, float]
) -> None:
    """Draw an arrow from the side of a box that faces the other."""
    crosses = before.half != node.half
    down = 1 if node.half == "forward" else -1
    (x0, y0), (x1, y1) = start, end
    if crosses:
        x0, x1 = x0 + _WIDTH / 2, x1 - _WIDTH / 2
        curve = f"C {x0 + 30} {y0} {x1 - 30} {y1} {x1} {y1}"
        tip = f"{x1 - 7} {y1 - 4} {x1 - 7} {y1 + 4}"
    else:  # a lane has no box to stop at
        y0 += down * _HEIGHT / 2 if before.name else 0
        y1 -= down * _HEIGHT / 2 if node.name else 0
        bend = (y1 - y0) * 0.7
        curve = f"C {x0} {y0 + bend} {x1} {y1 - bend} {x1} {y1}"
        tip = f"{x1 - 4} {y1 - down * 7} {x1 + 4} {y1 - down * 7}"
    colour = _EDGE["hook" if "hook" in (node.role, before.role) else node.role]
    style = f"stroke: {colour}; fill: none; stroke-width: 1.6"
    path = ET.SubElement(svg, "path", d=f"M {x0} {y0} {curve}", style=style)
    path.set("stroke-dasharray", "4 3" if crosses else "none")
    if node.name:
        ET.SubElement(svg, "polygon", points=f"{x1} {y1} {tip}", style=f"fill: {colour}")


def _box(svg: ET.Element, node: Node, x: float, y: float) -> None:
    fill = _HOOK_SURFACE if node.role == "hook" else _SURFACE
    style = f"fill: {fill}; stroke: {_EDGE[node.role]}; stroke-width: 1.6"
    corner = {"x": str(x - _WIDTH / 2), "y": str(y - _HEIGHT / 2)}
    ET.SubElement(svg, "rect", corner, width=str(_WIDTH), height=str(_HEIGHT), rx="6", style=style)
    source = node.source if len(node.source) <= _LETTERS else node.source[: _LETTERS - 1] + "…"
    _text(svg, node.name, x, y - 2 if source else y + 4, f"font-weight: 600; fill: {_INK}", 13)
    _text(svg, source, x, y + 14, f"fill: {_MUTED}", 11)


def _text(svg: ET.Element, text: str, x: float, y: float, style: str, size: int) -> None:
    style = f"font-family: {_FONT}; font-size: {size}px; text-anchor: middle; {style}"
    ET.SubElement(svg, "text", x=str(x), y=str(y), style=style).text = text


def _description(drawing: Drawing) -> str:
    """Say in words what the picture shows, for those who can't see it."""
    parts = {"forward": "Forward, downwards:", "backward": "Backward, upwards:"}
    for node in drawing.nodes:
        parts[node.half] += f" {'the hook: ' if node.role == 'hook' else ''}{node.name},"
    return " ".join(part.removesuffix(",") + "." for part in parts.values())
