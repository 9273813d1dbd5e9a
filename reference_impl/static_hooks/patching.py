"""What a patch is: one attribute of Paddle's, replaced while the package is enabled."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import paddle

from .errors import UnknownPaddleError


@dataclass(frozen=True)
class Patch:
    """One attribute of Paddle's that is replaced while the package is enabled.

    Attributes:
        owner: the module or class that has the attribute.
        attribute: its name.
        replace: makes the replacement from the original.
        parameters: the original's first parameter names, or None where Python can't read them.
        upstream: the file and function to change in PaddlePaddle/Paddle.
        change: what should change there.
    """

    owner: Any
    attribute: str
    replace: Callable[[Any], Any]
    parameters: tuple[str, ...] | None
    upstream: str
    change: str

    @property
    def name(self) -> str:
        """The attribute with its owner, for messages."""
        return f"{getattr(self.owner, '__name__', type(self.owner).__name__)}.{self.attribute}"

    def verify(self) -> None:
        """Raise UnknownPaddleError unless the surface is there and looks as expected."""
        if not hasattr(self.owner, self.attribute):
            raise unknown(self.name, "exist", "nothing")
        if self.parameters is not None:
            found = tuple(inspect.signature(getattr(self.owner, self.attribute)).parameters)
            if found[: len(self.parameters)] != self.parameters:
                raise unknown(self.name, f"take {self.parameters}", str(found))


def unknown(name: str, must: str, got: str) -> UnknownPaddleError:
    """Make the error about one surface that is not as expected."""
    return UnknownPaddleError(
        f"static_hooks.enable: {name} must {must}, but got {got} in Paddle {paddle.__version__}; "
        "use Paddle 3.3, which this release was made for"
    )
