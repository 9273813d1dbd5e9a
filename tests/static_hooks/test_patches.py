"""While enabled, the package replaces attributes of Paddle's: all or none, and puts them back."""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import paddle
import pytest
from paddle.static import InputSpec
from static_hooks import UnknownPaddleError, disable, enable, enabled, patches
from static_hooks.patching import Patch

pytestmark = pytest.mark.filterwarnings("ignore:Tensor do not have .place. interface")


def surface() -> list[Any]:
    """Return every object that `enable` replaces, as it is now."""
    return [inspect.getattr_static(patch.owner, patch.attribute) for patch in patches.PATCHES]


def leaf(values: Any) -> paddle.Tensor:
    """Return a tensor that gradients flow to."""
    return paddle.to_tensor(values, stop_gradient=False)


def step(function: Callable[..., Any], values: Any) -> Any:
    """Run forward and backward; return the input's gradient."""
    x = leaf(values)
    function(x).sum().backward()
    return x.grad.tolist()


def hooked(x: paddle.Tensor) -> paddle.Tensor:
    """Register hooks of every kind: traced, called back, on the input."""
    factor = [3.0]
    y = 2 * x
    y.register_hook(lambda g: g * g)
    y.register_hook(lambda g: g * factor[0])
    x.register_hook(lambda g: g + 1)
    return y * y


def test_put_back() -> None:
    """`disable` puts back the very object that each attribute was."""
    before = surface()
    enable()
    during = surface()
    disable()
    assert [] == [new for new, old in zip(during, before, strict=True) if new is old]
    assert [] == [new for new, old in zip(surface(), before, strict=True) if new is not old]


def test_twice_is_once() -> None:
    """To enable or disable twice is the same as once."""
    before = surface()
    enable()
    during = surface()
    enable()
    assert [] == [new for new, old in zip(surface(), during, strict=True) if new is not old]
    disable()
    disable()
    assert [] == [new for new, old in zip(surface(), before, strict=True) if new is not old]


def test_context() -> None:
    """`enabled` leaves things as it found them, nested and after an error."""
    before = surface()
    seen = []

    def work() -> None:
        with enabled():
            with enabled():
                seen.append(bool(patches.replaced))
            seen.append(bool(patches.replaced))
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert [True, True] == seen
    assert [] == patches.replaced
    enable()
    with enabled():
        pass
    assert patches.replaced
    disable()
    assert [] == [new for new, old in zip(surface(), before, strict=True) if new is not old]


@pytest.mark.parametrize("patch", patches.PATCHES, ids=lambda patch: patch.name)
def test_missing_surface(patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Paddle that lacks one of the surfaces is refused by name, and nothing is patched."""
    index = patches.PATCHES.index(patch)
    gone = Patch(patch.owner, "not_there", patch.replace, None, patch.upstream, patch.change)
    before = surface()
    with monkeypatch.context() as altered:
        others = patches.PATCHES
        altered.setattr(patches, "PATCHES", [*others[:index], gone, *others[index + 1 :]])
        with pytest.raises(UnknownPaddleError) as caught:
            enable()
    assert (
        f"static_hooks.enable: {gone.name} must exist, but got nothing in Paddle "
        f"{paddle.__version__}; use Paddle 3.3, which this release was made for"
    ) == str(caught.value)
    assert [] == patches.replaced
    assert [] == [new for new, old in zip(surface(), before, strict=True) if new is not old]


def test_changed_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Paddle whose function takes other parameters is refused, and nothing is patched."""

    def prune_ops(operations: Any, wanted: Any) -> None:
        """Have other parameters."""

    monkeypatch.setattr(paddle.autograd.ir_backward, "prune_ops", prune_ops)
    before = surface()
    with pytest.raises(UnknownPaddleError) as caught:
        enable()
    assert str(caught.value).startswith(
        "static_hooks.enable: paddle.autograd.ir_backward.prune_ops must take "
        "('total_ops', 'inputs_set', 'outputs_set', 'no_grad_set'), "
        "but got ('operations', 'wanted')"
    )
    assert [] == patches.replaced
    assert [] == [new for new, old in zip(surface(), before, strict=True) if new is not old]


def test_old_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Paddle with its old kind of programs is refused."""
    monkeypatch.setattr(paddle.framework, "use_pir_api", lambda: False)
    with pytest.raises(UnknownPaddleError, match="FLAGS_enable_pir_api must be on, but got off"):
        enable()
    assert [] == patches.replaced


def test_all_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a replacement can't be made, what was replaced before it is put back."""

    def fail(original: Any) -> Any:
        raise ZeroDivisionError

    last = patches.PATCHES[-1]
    broken = Patch(last.owner, last.attribute, fail, None, last.upstream, last.change)
    before = surface()
    with monkeypatch.context() as altered:
        altered.setattr(patches, "PATCHES", [*patches.PATCHES[:-1], broken])
        with pytest.raises(ZeroDivisionError):
            enable()
    assert [] == patches.replaced
    assert [] == [new for new, old in zip(surface(), before, strict=True) if new is not old]


def test_each_names_its_place_upstream() -> None:
    """Each patch names the upstream file and function, and says what should change there."""
    for patch in patches.PATCHES:
        file, _, function = patch.upstream.partition("::")
        assert file.endswith((".py", ".cc")), patch.name
        assert file.startswith(("python/paddle/", "paddle/fluid/")), patch.name
        assert function, patch.name
        assert patch.change.endswith("."), patch.name


def test_traced_before_disable() -> None:
    """A function traced while hooks were enabled keeps them, and works on, after `disable`."""
    with enabled():
        static = paddle.jit.to_static(hooked, full_graph=True)
        assert [97.0, 385.0] == step(static, [1.0, 2.0])
    assert [97.0, 385.0] == step(static, [1.0, 2.0])


def test_handles_and_values_after_disable() -> None:
    """Handles, and values that hooks on inputs use, work on after `disable`, too."""

    class Net(paddle.nn.Layer):
        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            y = 2 * x
            x.register_hook(lambda g: g * y)
            self.handle = y.register_hook(lambda g: g * g)
            return y * y

    net = Net()
    with enabled():
        static = paddle.jit.to_static(net, full_graph=True)
        assert [64.0] == step(static, [1.0])
    x = leaf([1.0])
    loss = static(x)
    assert [4.0] == loss.tolist()
    assert net.handle.remove()
    loss.backward()
    assert [16.0] == x.grad.tolist()
    assert [64.0] == step(static, [1.0])


def test_first_run_after_disable() -> None:
    """The same holds for a function that has not run backward before `disable`."""
    with enabled():
        static = paddle.jit.to_static(hooked, full_graph=True)
        x = leaf([1.0, 2.0])
        loss = static(x).sum()
    loss.backward()
    assert [97.0, 385.0] == x.grad.tolist()


def test_enabled_again() -> None:
    """Enabling again serves functions traced before and after."""
    with enabled():
        static = paddle.jit.to_static(hooked, full_graph=True)
        assert [97.0] == step(static, [1.0])
    with enabled():
        assert [97.0] == step(static, [1.0])
        assert [97.0, 385.0] == step(static, [1.0, 2.0])
        assert [97.0] == step(paddle.jit.to_static(hooked, full_graph=True), [1.0])


def test_as_it_was_after_disable() -> None:
    """After `disable` a new trace meets Paddle as it is: it refuses hooks in static graphs."""
    with enabled():
        step(paddle.jit.to_static(hooked, full_graph=True), [1.0])

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        y = 2 * x
        z = y * y
        z.register_hook(lambda g: g * g)
        return z

    with pytest.raises(AssertionError):
        paddle.jit.to_static(forward, full_graph=True)(leaf([1.0]))


class Recorder:
    """Has a `register_hook` of its own that has nothing to do with gradients."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def register_hook(self, value: float) -> None:
        """Keep a number."""
        self.seen.append(value)


class Reordered(paddle.nn.Layer):
    """Reads like code that Paddle moves upwards because it mentions `register_hook`."""

    def __init__(self) -> None:
        super().__init__()
        self.use_hook = False

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Scale in the branch that registers nothing."""
        h = x + 1
        h = h * h
        if self.use_hook:
            h.register_hook(lambda g: g * g)
        else:
            h = h * 10
        return h + x


def test_no_reordering() -> None:
    """While hooks are enabled, no statement that mentions `register_hook` is moved."""
    with enabled():
        assert [41.0] == paddle.jit.to_static(Reordered(), full_graph=True)(leaf([1.0])).tolist()
    # what was converted is not kept: Paddle as it is moves the branch above the square
    moved = paddle.jit.to_static(Reordered(), full_graph=True)(leaf([1.0]))
    assert [41.0] != moved.tolist()


def test_methods_of_that_name() -> None:
    """An object's own method of that name is called as it is, in its place."""
    recorder = Recorder()

    def forward(x: paddle.Tensor) -> paddle.Tensor:
        count = 3.0
        count = count * 2
        recorder.register_hook(count)
        return x * count

    with enabled():
        paddle.jit.to_static(forward, full_graph=True)(leaf([1.0]))
    assert [6.0] == recorder.seen


class Unhooked(paddle.nn.Layer):
    """A small net without hooks: a branch, a container, a layer with state."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(4, 4)
        self.norm = paddle.nn.BatchNorm1D(4)

    def forward(self, x: paddle.Tensor, others: list[paddle.Tensor]) -> paddle.Tensor:
        """Use them."""
        y = self.norm(self.linear(x))
        y = paddle.tanh(y) if y.sum() > 0 else y * 2
        a, b = paddle.split(y, 2, axis=1)
        return paddle.concat([b, a], axis=1) * others[0] + paddle.nn.functional.relu(y)


def operations(layer: Any) -> list[str]:
    """List the operations of a traced layer: of its training program, and of its inference."""
    x = leaf([[1.0, 2.0, 3.0, 4.0]])
    _, traced = layer.forward.get_concrete_program(x, [x])
    programs = [traced.train_program.program, traced.infer_program.program]
    return [op.name() for program in programs for op in program.global_block().ops]


@pytest.mark.filterwarnings("ignore:When training, we now always track global mean")
def test_unhooked_is_untouched() -> None:
    """A model without hooks has the same programs, operation by operation, enabled or not."""
    without = operations(paddle.jit.to_static(Unhooked(), full_graph=True))
    with enabled():
        assert without == operations(paddle.jit.to_static(Unhooked(), full_graph=True))
    assert len(without) > 50


class Saved(paddle.nn.Layer):
    """A net that is saved, with hooks or without."""

    def __init__(self, *, with_hooks: bool) -> None:
        super().__init__()
        start = paddle.nn.initializer.Constant(0.5)
        self.linear = paddle.nn.Linear(2, 2, weight_attr=start)
        self.with_hooks, self.seen = with_hooks, [0]

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Hook an intermediate, the parameter and the input, with effects and without."""
        y = self.linear(x)
        z = y * y
        if self.with_hooks:
            y.register_hook(lambda g: g * g)
            z.register_hook(self.count)
            self.linear.weight.register_hook(lambda g: g * y.sum())
            self.handle = y.register_hook(lambda g: g * z)
        return z + 1

    def count(self, g: paddle.Tensor) -> None:
        """Have an effect."""
        self.seen[0] += 1


LOAD = """
import sys
sys.modules["static_hooks"] = None  # importing it fails
import paddle
model = paddle.jit.load(sys.argv[1])
print(model(paddle.to_tensor([[1.0, 2.0]])).tolist())
"""


def test_saved_program(tmp_path: Path) -> None:
    """A saved model is the unhooked one to the letter, and loads without this package."""
    spec = [InputSpec([None, 2], "float32", name="x")]
    programs = []
    with enabled():
        for with_hooks in (False, True):
            path = tmp_path / str(with_hooks)
            with paddle.utils.unique_name.guard():
                static = paddle.jit.to_static(Saved(with_hooks=with_hooks), full_graph=True)
                step(static, [[1.0, 2.0]])  # a model is saved after it was trained
                paddle.jit.save(static, str(path), input_spec=spec)
            # Paddle numbers the layers that a process has made, and notes the number in the program
            programs.append(
                re.sub(r"/Linear_\d+/", "/Linear/", path.with_suffix(".json").read_text())
            )
    assert programs[0] == programs[1]
    command = [sys.executable, "-W", "ignore", "-c", LOAD, str(tmp_path / "True")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "[[3.25, 3.25]]\n" == result.stdout
