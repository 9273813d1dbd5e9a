"""Drawing shows the program that Paddle runs: its operations, its edges, and where hooks stand."""

from collections.abc import Iterator
from xml.etree import ElementTree as ET

import paddle
import pytest
from static_hooks import enabled
from static_hooks.drawing import Drawing, draw

pytestmark = pytest.mark.filterwarnings(
    "ignore:Tensor do not have .place. interface"  # Paddle asks for it while it builds a backward
)

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    with enabled():
        yield


def square(g: paddle.Tensor) -> paddle.Tensor:
    """Be a hook that becomes one operation."""
    return g * g


def two_uses(x: paddle.Tensor) -> paddle.Tensor:
    """Use a hooked tensor twice."""
    y = 2 * x
    y.register_hook(square)
    return 3 * y + paddle.tanh(y)


def one_input() -> paddle.Tensor:
    """Return an input that a gradient flows to."""
    return paddle.to_tensor([1.0], stop_gradient=False)


def edges(drawing: Drawing) -> list[tuple[str, list[str]]]:
    """Return each operation with those that it takes results from."""
    return [(node.name, [before.name for before in node.inputs]) for node in drawing.nodes]


def svg_of(drawing: Drawing) -> ET.Element:
    """Return the SVG that a notebook would show."""
    html = drawing._repr_html_()
    return ET.fromstring(html[html.index("<svg") : html.index("</svg>") + len("</svg>")])


def test_operations_and_edges() -> None:
    """A drawing has every operation of the program but constants, with its edges, in order."""
    drawing = draw(two_uses, one_input())
    assert [
        ("x", []),
        ("scale(2)", ["x"]),
        ("scale(3)", ["scale(2)"]),
        ("tanh", ["scale(2)"]),
        ("add", ["scale(3)", "tanh"]),
        ("result", ["add"]),
        ("gradient", ["add"]),
        ("add_grad", ["gradient"]),
        ("scale(3)", ["add_grad"]),
        ("tanh_grad", ["add_grad"]),
        ("add_n", ["scale(3)", "tanh_grad"]),
        ("multiply", ["add_n"]),
        ("scale(2)", ["multiply"]),
        ("gradient", ["scale(2)"]),
    ] == edges(drawing)


def test_roles() -> None:
    """What a hook's body became is told apart from the forward and from Paddle's backward."""
    roles = [node.role for node in draw(two_uses, one_input()).nodes]
    assert ["forward"] * 6 + ["backward"] * 5 + ["hook"] + ["backward"] * 2 == roles


def test_source_lines() -> None:
    """An operation carries the line of the user's code that made it, if there is one."""
    sources = [node.source for node in draw(two_uses, one_input()).nodes]
    line = "3 * y + paddle.tanh(y)"
    forward = ["input", "y = 2 * x", line, line, line, ""]
    assert forward == sources[:6]
    assert ["of the result", "", "", "", "", "g * g", "", "of x"] == sources[6:]


def test_without_hook() -> None:
    """A program without hooks shows none."""

    def unhooked(x: paddle.Tensor) -> paddle.Tensor:
        return paddle.tanh(x) * 2

    assert () == draw(unhooked, one_input()).hooks


def test_callback_and_capture() -> None:
    """A body that runs in Python is one operation, and a captured value has an edge to its hook."""
    seen = []

    def hooked(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        m = paddle.exp(y)
        y.register_hook(lambda g: g * m)
        y.register_hook(seen.append)
        return m

    drawing = draw(hooked, one_input())
    assert ("multiply", "Python callback") == drawing.hooks
    assert ("multiply", ["exp_grad", "exp"]) in edges(drawing)


def test_layer() -> None:
    """A layer's parameters are inputs, and every gradient says whose it is."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.linear = paddle.nn.Linear(2, 2, weight_attr="drawn_w", bias_attr="drawn_b")

        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            return self.linear(x)

    drawing = draw(Net(), paddle.ones([1, 2]))
    assert "Net" == drawing.title
    named = {node.name: node.source for node in drawing.nodes if not node.inputs}
    assert {"drawn_w": "parameter", "drawn_b": "parameter", "x": "input"} == named
    gradients = {node.source for node in drawing.nodes if node.name == "gradient"}
    assert {"of the result", "of drawn_w", "of drawn_b"} == gradients


def test_svg_has_a_box_for_each_operation() -> None:
    """The SVG is well formed and shows every operation by its name."""
    drawing = draw(two_uses, one_input())
    svg = svg_of(drawing)
    assert len(drawing.nodes) == len(svg.findall(SVG + "rect"))
    shown = [text.text for text in svg.findall(SVG + "text")]
    assert [] == [node.name for node in drawing.nodes if node.name not in shown]


def test_svg_boxes_do_not_overlap() -> None:
    """Each box has a place of its own, also where an edge is longer than a row."""

    def long_edge(x: paddle.Tensor) -> paddle.Tensor:
        return x + paddle.exp(paddle.tanh(paddle.sin(x)))

    boxes = svg_of(draw(long_edge, one_input())).findall(SVG + "rect")
    corners = {(box.get("x"), box.get("y")) for box in boxes}
    assert len(boxes) == len(corners)
    curves = len(svg_of(draw(long_edge, one_input())).findall(SVG + "path"))
    assert curves > sum(len(node.inputs) for node in draw(long_edge, one_input()).nodes)


def test_svg_is_accessible() -> None:
    """The SVG is an image with a title and a description in words, in the theme's colours."""
    svg = svg_of(draw(two_uses, one_input(), title="Two uses & a hook"))
    assert "img" == svg.get("role")
    assert "Two uses & a hook" == svg.findtext(SVG + "title")
    assert (
        "Forward, downwards: x, scale(2), scale(3), tanh, add, result. "
        "Backward, upwards: gradient, add_grad, scale(3), tanh_grad, add_n, "
        "the hook: multiply, scale(2), gradient."
    ) == svg.findtext(SVG + "desc")
    styles = {element.get("style", "") for element in svg.iter()}
    assert not any("fill: #" in style or "stroke: #" in style for style in styles)


def test_text() -> None:
    """Where no SVG can be shown, the drawing is text, with the hook marked."""
    lines = repr(draw(two_uses, one_input(), title="Two uses")).splitlines()
    assert "Two uses" == lines[0]
    assert " * multiply <- add_n" == lines[12]
