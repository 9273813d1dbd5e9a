"""A hook that is nested in the traced function keeps its decorators."""

from __future__ import annotations

from typing import Any

from .surfaces import IGNORE_NAMES, ast_to_source_code, parse_source


def decorating_once(original: Any) -> type:
    """Make a transformer that decorates a nested function when it is defined, as Python does.

    Paddle's own puts the decorators into the function, to run at each call. The name then stands
    for the bare function: a hook would lose its decorators.
    """

    class DecoratorTransformer(original):  # type: ignore[misc]
        def visit_ClassDef(self, node: Any) -> Any:  # noqa: N802 - the name of a node
            return original(node).generic_visit(node)  # a property has several functions

        def visit_FunctionDef(self, node: Any) -> Any:  # noqa: N802 - the name of a node
            decorators = [found for found in node.decorator_list if not _is_left_out(found)]
            if node is self.root.body[0] or not decorators:
                return super().visit_FunctionDef(node)
            node.decorator_list = []
            self.generic_visit(node)
            decorated = node.name
            for found in reversed(decorators):
                text = ast_to_source_code(found).strip()
                called = text if text.endswith(")") else f"_jst.Call({text})"
                decorated = f"{called}({decorated})"
            return [node, *parse_source(f"{node.name} = {decorated}").body]

    return DecoratorTransformer


def _is_left_out(decorator: Any) -> bool:
    """Tell whether Paddle leaves a decorator out of what it converts, such as `functools.wraps`."""
    text: str = ast_to_source_code(decorator).strip()
    name = text.removeprefix("_jst.Call(").partition("(")[0].rstrip(")").rpartition(".")[2]
    return name in IGNORE_NAMES
