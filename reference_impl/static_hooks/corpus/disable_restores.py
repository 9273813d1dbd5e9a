"""`disable()` puts back every attribute that `enable()` replaced: the very same objects."""

import inspect

import paddle

import static_hooks
from static_hooks.patches import PATCHES

from . import Scenario, converted


def _surfaces():
    return [inspect.getattr_static(patch.owner, patch.attribute) for patch in PATCHES]


def _are(these, those):
    return all(this is that for this, that in zip(these, those, strict=True))


def every_attribute(mode):
    """Enabled and disabled three times, nested too."""
    static_hooks.disable()
    before = _surfaces()
    found = []
    for _ in range(3):
        static_hooks.enable()
        with static_hooks.enabled():
            found.append(_are(_surfaces(), before))
        static_hooks.disable()
        found.append(_are(_surfaces(), before))
    return found


def behaviour(mode):
    """Disabled, a hooked function does what it did before; enabled again, it works again."""

    def function(x):
        y = 2 * x
        y.register_hook(lambda g: g * g)
        return 3 * y

    def gradient():
        x = paddle.to_tensor([1.0], stop_gradient=False)
        try:
            converted(function, mode)(x).sum().backward()
        except AssertionError:
            return "AssertionError"
        return x.grad.item()

    static_hooks.enable()
    first = gradient()
    static_hooks.disable()
    second = gradient()
    static_hooks.enable()
    return [first, second, gradient()]


ENTRIES = [
    Scenario(
        every_attribute,
        [False, True] * 3,
        not_applicable={"program": "patches are the same in every mode"},
    ),
    Scenario(
        behaviour,
        [18.0, "AssertionError", 18.0],
        not_applicable={
            "eager": "eager mode works without the package",
            "sot": "Paddle alone runs such a function eagerly, with the right numbers",
            "program": "patches are the same in every mode",
        },
    ),
]
