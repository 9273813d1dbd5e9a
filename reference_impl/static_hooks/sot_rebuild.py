"""Make anew, at each run, the hooks that a frame makes: SOT has replaced the frame by a graph.

SOT simulates a frame's bytecode. A function defined in the frame exists only in the simulation,
with variables of the simulation in its cells. `Recorder` turns such a hook into a small recipe and
a list of what the frame can load; `Maker` makes the real hook from them: real functions with real
cells, shared where the frame shares them, and the very cells of outer functions where the hook
reaches these.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .sot_objects import MadePartialVariable, is_plain
from .sot_surfaces import (
    CellVariable,
    FunctionVariable,
    MethodVariable,
    NamedTupleVariable,
    ObjectVariable,
    VariableBase,
    gen_instr,
)

# Where a simulated function keeps the simulated frame that made it.
FRAME = "__static_hooks_frame__"
_UNASSIGNED = object()
_OF_CELLS = ("LOAD_DEREF", "STORE_DEREF")


@dataclass(frozen=True)
class Loaded:
    """Something that the frame can load: its place in the list of loads."""

    index: int


@dataclass(frozen=True)
class Handle:
    """The handle of a hook of the same run."""

    index: int


@dataclass(eq=False)
class Cell:
    """A variable of the frame that functions made in it share."""

    content: Any = _UNASSIGNED


@dataclass(eq=False)
class Function:
    """A function that the frame defines."""

    code: types.CodeType
    globals: dict[str, Any]
    attributes: dict[str, Any]
    cells: list[Any] = field(default_factory=list)
    defaults: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Call:
    """What a call makes: a bound method, a `functools.partial`, or a named tuple."""

    function: Callable[..., Any]
    arguments: Sequence[Any]
    keywords: dict[str, Any]


@dataclass(eq=False)
class Instance:
    """An object of a class that the frame makes."""

    kind: type
    attributes: dict[str, Any] = field(default_factory=dict)


class OuterCell:
    """A load: the cell of a variable of the function that the simulated function is nested in."""

    def __init__(self, name: str) -> None:
        self.name = name

    def reconstruct(self, codegen: Any) -> None:
        """Emit the instruction that loads the cell itself."""
        is_old = sys.version_info < (3, 11)
        instruction = gen_instr("LOAD_CLOSURE" if is_old else "LOAD_FAST", arg=0, argval=self.name)
        instruction.opname = "LOAD_CLOSURE"  # the code generator must not look for a local variable
        codegen.extend_instrs([instruction])
        options = codegen._code_options
        codegen.hooks.append(lambda: setattr(instruction, "arg", _place(options, self.name)))


def _place(options: dict[str, Any], name: str) -> int:
    """Find a cell among a code object's variables."""
    if sys.version_info < (3, 11):
        return [*options["co_cellvars"], *options["co_freevars"]].index(name)
    local = options["co_varnames"]
    cells = [cell for cell in options["co_cellvars"] if cell not in local]
    return [*local, *cells, *options["co_freevars"]].index(name)


def count_cells(original: Callable[..., Any]) -> Callable[..., Any]:
    """Count a frame's own cells: Paddle does not, and loads another variable than is meant."""

    def modify_vars(instructions: list[Any], code_options: dict[str, Any]) -> None:
        if sys.version_info < (3, 11):  # cells are numbered apart from other variables
            original(instructions, code_options)
            return
        original([i for i in instructions if i.opname not in _OF_CELLS], code_options)
        for instruction in (i for i in instructions if i.opname in _OF_CELLS):
            instruction.arg = _place(code_options, instruction.argval)

    return modify_vars


class ClosureCell:
    """A load: a cell of a real function that is being simulated."""

    def __init__(self, function: VariableBase, index: int) -> None:
        self.function, self.index = function, index

    def reconstruct(self, codegen: Any) -> None:
        """Emit the instructions that load the cell."""
        codegen.gen_load_object(_closure_of, "___static_hooks_closure_of")
        self.function.reconstruct(codegen)
        codegen.gen_call_function(1)
        codegen.gen_load_const(self.index)
        codegen.gen_subscribe()


def _closure_of(function: Any) -> Any:
    """Return the cells of a function, also of one that `to_static` converted."""
    return getattr(function, "dygraph_function", function).__closure__


class Recorder:
    """Turns simulated hooks into recipes.

    Args:
        handle_of: returns the recipe of a variable that is the handle of a hook.

    Attributes:
        loads: what the recipes need loaded: variables of the simulation, or cells.
    """

    def __init__(self, handle_of: Callable[[VariableBase], Any]) -> None:
        self.loads: list[Any] = []
        self._handle_of = handle_of
        self._nodes: dict[str, Any] = {}

    def node(self, variable: VariableBase) -> Any:
        """Return the recipe of what `variable` stands for."""
        if variable.id not in self._nodes:
            self._nodes[variable.id] = self._make(variable)
        return self._nodes[variable.id]

    def _make(self, variable: VariableBase) -> Any:
        handle = self._handle_of(variable)
        if handle is not None:
            return handle
        if not variable.tracker.is_traceable():
            if is_defined(variable):
                return self._function(variable)
            if isinstance(variable, MethodVariable):
                return self._call(types.MethodType, variable.fn, variable.bound_instance)
            if isinstance(variable, MadePartialVariable):
                parts = variable.function, *variable.args
                return self._call(functools.partial, *parts, **variable.kwargs)
            if isinstance(variable, NamedTupleVariable):  # SOT itself would make a plain tuple
                return self._call(variable.cls, *variable.get_wrapped_items())
            if type(variable) is ObjectVariable and is_plain(variable.get_py_type()):
                return self._instance(variable)
        return self._load(variable)

    def _load(self, load: Any) -> Loaded:
        self.loads.append(load)
        return Loaded(len(self.loads) - 1)

    def _call(self, function: Any, *arguments: VariableBase, **keywords: VariableBase) -> Call:
        named = {key: self.node(argument) for key, argument in keywords.items()}
        return Call(function, [self.node(argument) for argument in arguments], named)

    def _instance(self, variable: VariableBase) -> Instance:
        made = self._nodes[variable.id] = Instance(variable.get_py_type())
        for name in {mutation.key for mutation in variable.attr_proxy.records}:
            value = variable.attr_proxy.get(name)
            if isinstance(value, VariableBase):  # not an attribute that was deleted
                made.attributes[name] = self.node(value)
        return made

    def _function(self, variable: VariableBase) -> Function:
        function, frame = variable.value, variable.value.__dict__[FRAME]
        attributes = {k: v for k, v in function.__dict__.items() if k != FRAME}
        made = Function(function.__code__, _globals_of(frame), attributes)
        self._nodes[variable.id] = made  # a function may reach itself
        names = function.__code__.co_freevars
        for name, cell in zip(names, function.__closure__ or (), strict=True):
            made.cells.append(self._cell(name, cell.cell_contents, frame))
        made.defaults = tuple(map(self.node, function.__defaults__ or ()))
        made.keywords = {k: self.node(v) for k, v in (function.__kwdefaults__ or {}).items()}
        return made

    def _cell(self, name: str, cell: CellVariable, frame: Any) -> Any:
        if cell.id not in self._nodes:
            self._nodes[cell.id] = node = self._outer_cell(name, frame) or Cell()
            if isinstance(node, Cell) and not cell.empty():
                node.content = self.node(cell.cell_content())
        return self._nodes[cell.id]

    def _outer_cell(self, name: str, frame: Any) -> Loaded | None:
        """Return the load of a cell that outlives the frame, None for a cell of the frame's own."""
        if name in frame.code.co_cellvars:
            return None
        simulated = getattr(frame.globals, "fn", None)
        if simulated is None:  # the frame that SOT replaces
            return self._load(OuterCell(name))
        if is_defined(simulated):
            return self._outer_cell(name, simulated.value.__dict__[FRAME])
        index = simulated.value.__code__.co_freevars.index(name)
        return self._load(ClosureCell(simulated, index))


def _globals_of(frame: Any) -> dict[str, Any]:
    """Return the globals of the module that a simulated frame runs in."""
    simulated = getattr(frame.globals, "fn", None)
    if simulated is not None and is_defined(simulated):  # its own hold variables of the simulation
        return _globals_of(simulated.value.__dict__[FRAME])
    found: dict[str, Any] = frame.globals.proxy.original_data
    return found


def is_defined(variable: VariableBase) -> bool:
    """Tell whether a variable is a function that a simulated frame defines."""
    return isinstance(variable, FunctionVariable) and FRAME in getattr(
        variable.value, "__dict__", {}
    )


class Maker:
    """Makes the objects of one run from their recipes.

    Args:
        loaded: what was loaded, by its place; may be filled until `finish`.
        handle: makes the handle of a hook of this run.
    """

    def __init__(self, loaded: dict[int, Any], handle: Callable[[int], Any]) -> None:
        self.loaded = loaded
        self._handle = functools.cache(handle)
        self._made: dict[Any, Any] = {}
        self._unfilled: list[Any] = []

    def make(self, node: Any) -> Any:
        """Return the object of a recipe; `finish` fills cells, defaults and attributes."""
        if isinstance(node, Loaded):
            return self.loaded[node.index]
        if isinstance(node, Handle):
            return self._handle(node.index)
        if node not in self._made:
            self._made[node] = self._create(node)
        return self._made[node]

    def _create(self, node: Any) -> Any:
        if isinstance(node, Call):
            return node.function(*map(self.make, node.arguments), **self._all(node.keywords))
        self._unfilled.append(node)
        if isinstance(node, Cell):
            return types.CellType()
        if isinstance(node, Instance):
            return object.__new__(node.kind)
        cells = tuple(map(self.make, node.cells))
        function = types.FunctionType(node.code, node.globals, node.code.co_name, None, cells)
        function.__dict__.update(node.attributes)
        return function

    def _all(self, nodes: dict[str, Any]) -> dict[str, Any]:
        return {name: self.make(node) for name, node in nodes.items()}

    def finish(self) -> None:
        """Fill what could not be filled when it was created."""
        while self._unfilled:
            node = self._unfilled.pop()
            made = self._made[node]
            if isinstance(node, Function):
                made.__defaults__ = tuple(map(self.make, node.defaults)) or None
                made.__kwdefaults__ = self._all(node.keywords) or None
            elif isinstance(node, Instance):
                for name, content in self._all(node.attributes).items():
                    setattr(made, name, content)  # an object with slots has no `__dict__`
            elif node.content is not _UNASSIGNED:
                made.cell_contents = self.make(node.content)
