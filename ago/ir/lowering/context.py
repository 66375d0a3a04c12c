"""What the lowerings of all operators share: names, buffers, and the map from logical to physical.

Read `Lowering` first. It collects the stages and buffers of one subgraph. Names depend on structure
only, so that equal subgraphs of different models become equal programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ago.ir.extern import CFunction, Extern
from ago.ir.graph import Node
from ago.ir.index import Index, as_index, var
from ago.ir.nest import Axis, Buffer, Scope, Stage
from ago.ir.tensor import Layout, TensorType
from ago.ir.value import Condition, Load, Value

TAPS = {1: ("kx",), 2: ("ky", "kx"), 3: ("kz", "ky", "kx")}
"""Names of a window's reduce axes, by the number of its spatial axes."""

Reader = Callable[[Sequence[Index]], Load]
"""Loads the element at a logical index."""

_AXIS_NAMES = {4: ("n", "c", "y", "x"), 3: ("n", "c", "x"), 2: ("n", "c"), 1: ("c",)}


@dataclass(slots=True)
class Lowering:
    """The stages and buffers of a subgraph as they are made.

    Attributes:
        types: Type, with layout, of each value of the graph.
        constants: Names of the values that are model parameters.
        outputs: Names of the values that leave the subgraph.
        stages: Stages so far, in order.
        buffers: Buffer of each value so far, by value name.
        extra: Buffers that are no value of the graph.
        externs: Extern stages so far.
    """

    types: Callable[[str], TensorType]
    constants: frozenset[str]
    outputs: frozenset[str]
    stages: list[Stage] = field(default_factory=list)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    extra: list[Buffer] = field(default_factory=list)
    externs: list[Extern] = field(default_factory=list)
    _used: dict[str, int] = field(default_factory=dict)

    def stage_name(self, kind: str) -> str:
        """A stage name not used so far: `conv`, then `conv1`, ..."""
        return self._fresh(kind)

    def load(self, value: str, index: Sequence[Index | int], role: str = "input") -> Load:
        """A load of a value at a logical index.

        Args:
            value: Name of the value in the graph.
            index: One index a logical axis.
            role: What to call the buffer if it enters the subgraph here.
        """
        if value not in self.buffers:
            scope: Scope = "constant" if value in self.constants else "input"
            self._declare(value, self._fresh(role), scope)
        return Load(self.buffers[value].name, _physical(self.types(value), index))

    def broadcast(self, value: str, at: Sequence[Index], role: str = "input") -> Load:
        """A load of `value` as it broadcasts to the logical index `at`."""
        shape = self.types(value).shape
        tail = at[len(at) - len(shape) :]
        index = [as_index(0) if extent == 1 else i for extent, i in zip(shape, tail, strict=True)]
        return self.load(value, index, role)

    def axes_of(self, stage: str, value: str, order: Sequence[int] | None = None) -> LogicalAxes:
        """Spatial axes of a stage that makes `value`, one a logical axis.

        Args:
            stage: Name of the stage.
            value: Name of the value.
            order: Logical axes from the outermost loop in; by default the value's physical order.
        """
        kind = self.types(value)
        shape = kind.shape
        names = _AXIS_NAMES.get(len(shape)) or tuple(f"i{d}" for d in range(len(shape)))
        nested = layout_of(kind).order if order is None else order
        axes = tuple(Axis(names[d], shape[d]) for d in nested)
        return LogicalAxes(axes, tuple(var(f"{stage}.{name}") for name in names))

    def store(
        self,
        node: Node,
        stage: str,
        axes: Sequence[Axis],
        index: Sequence[Index],
        value: Value,
        *,
        reduce: str | None = None,
        init: Value | None = None,
        guard: Condition = (),
    ) -> None:
        """Add the stage that makes the node's output.

        Args:
            node: The node; its output gets a buffer named after the stage.
            stage: Name of the stage.
            axes: Its axes, outermost first.
            index: Logical index of the element it makes.
            value: What it stores or accumulates.
            reduce: Function of an accumulation.
            init: Its start value.
            guard: Where it stores at all.
        """
        scope: Scope = "output" if node.output in self.outputs else "workspace"
        self._declare(node.output, stage, scope)
        place = _physical(self.types(node.output), index)
        self.stages.append(
            Stage(stage, tuple(axes), stage, place, value, reduce, init, node.name, guard)
        )

    def temporary(
        self,
        node: Node,
        stage: str,
        axes: Sequence[Axis],
        value: Value,
        *,
        reduce: str | None = None,
        init: Value | None = None,
        dtype: str = "f32",
    ) -> str:
        """Add a stage into a buffer of its own, one dimension a spatial axis; returns its name."""
        spatial = [a for a in axes if a.kind == "spatial"]
        index = tuple(var(f"{stage}.{a.name}") for a in spatial)
        self.extra.append(Buffer(stage, tuple(a.extent for a in spatial), "workspace", dtype))
        self.stages.append(Stage(stage, tuple(axes), stage, index, value, reduce, init, node.name))
        return stage

    def extern(
        self,
        node: Node,
        function: CFunction,
        roles: Sequence[str],
        scratch: Sequence[tuple[str, int, str]] = (),
    ) -> None:
        """Make all of the node's outputs by a C function.

        Args:
            node: The node; its inputs are passed in order, absent ones as null pointers.
            function: What is called.
            roles: What to call the buffer of each input that the operator may have.
            scratch: Name, elements and element type of each array for the function's own use.
        """
        stage = self._fresh(function.name.removeprefix("ago_"))
        for value, role in zip(node.inputs, roles, strict=False):
            if value and value not in self.buffers:
                scope: Scope = "constant" if value in self.constants else "input"
                self._declare(value, self._fresh(role), scope)
        for value in node.outputs:
            scope = "output" if value in self.outputs else "workspace"
            self._declare(value, self._fresh("output"), scope)
        temporaries = [
            Buffer(self._fresh(name), (size,), "workspace", dtype) for name, size, dtype in scratch
        ]
        self.extra.extend(temporaries)
        absent = ("",) * (len(roles) - len(node.inputs))
        read, written = (
            tuple(self.buffers[v].name if v else "" for v in values)
            for values in (node.inputs + absent, node.outputs)
        )
        own = tuple(b.name for b in temporaries)
        self.externs.append(
            Extern(stage, node.op, node.attrs, read, written, own, function, node.name)
        )

    def reordered(self, node: Node, value: str, order: Sequence[int], role: str) -> Reader:
        """What loads a value whose logical axes lie in the given order, the last one contiguous.

        A constant is packed for its reader anyway, and one that lies so is read in place; another
        one is copied by a stage of its own.

        Args:
            node: Its reader.
            value: Name of the value in the graph.
            order: Its logical axes from the slowest to the fastest.
            role: What to call the buffer if it enters the subgraph here.
        """
        kind = self.types(value)
        long = [axis for axis in order if kind.shape[axis] > 1]
        lies = [axis for axis in layout_of(kind).order if kind.shape[axis] > 1]
        if value in self.constants or lies[-1:] == long[-1:]:
            return lambda index: self.load(value, index, role)
        stage = self.stage_name("reorder")
        axes = [Axis(f"i{axis}", kind.shape[axis]) for axis in order]
        place = [var(f"{stage}.i{axis}") for axis in range(kind.rank)]
        self.temporary(node, stage, axes, self.load(value, place, role), dtype=kind.dtype)
        return lambda index: Load(stage, tuple(as_index(index[axis]) for axis in order))

    def _declare(self, value: str, name: str, scope: Scope) -> None:
        kind = self.types(value)
        self.buffers[value] = Buffer(name, kind.physical_shape, scope, kind.dtype)

    def _fresh(self, kind: str) -> str:
        count = self._used.get(kind, 0)
        self._used[kind] = count + 1
        return kind if count == 0 else f"{kind}{count}"


@dataclass(frozen=True, slots=True)
class LogicalAxes:
    """The spatial axes of a stage.

    Attributes:
        axes: Outermost first.
        index: The variable of each logical axis, in logical order.
    """

    axes: tuple[Axis, ...]
    index: tuple[Index, ...]


def layout_of(kind: TensorType) -> Layout:
    """The layout of a type; row-major where none was chosen."""
    return kind.layout or Layout.row_major(kind.rank)


def _physical(kind: TensorType, index: Sequence[Index | int]) -> tuple[Index, ...]:
    layout = layout_of(kind)
    return tuple(
        as_index(index[axis]) + start
        for axis, start in zip(layout.order, layout.starts, strict=True)
    )
