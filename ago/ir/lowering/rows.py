"""Statistics of rows: what softmax, the normalisations and reductions are lowered with.

Read `Rows` first. The order of each sum is fixed here, whatever the target: along contiguous memory
a row is reduced in `PARTIAL` interleaved sums, which are then added up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ago.ir.graph import Node
from ago.ir.index import Index, as_index, var
from ago.ir.lowering.context import Lowering, layout_of
from ago.ir.nest import Axis
from ago.ir.value import Call, Const, Load, Select, Value

PARTIAL = 16
"""Partial results of a reduction along contiguous memory: a vector, or several, on any target."""

Place = Sequence[Index]
"""A logical index, one entry an axis."""

Element = Callable[[Place], Value]
"""A value for each place."""

_START = {
    "add": 0.0,
    "mul": 1.0,
    "max": -math.inf,
    "nanmax": -math.inf,
    "min": math.inf,
    "nanmin": math.inf,
}


def sub(a: Value, b: Value) -> Value:
    """`a - b`."""
    return Call("sub", (a, b))


def div(a: Value, b: Value) -> Value:
    """`a / b`."""
    return Call("div", (a, b))


def call(function: str, *args: Value) -> Value:
    """`function(*args)`."""
    return Call(function, args)


@dataclass(frozen=True, slots=True)
class Rows:
    """The sets of elements over which a node computes statistics.

    Attributes:
        node: The node.
        lowering: Where it is lowered.
        axes: Logical axes that a set extends along.
        group: Neighbouring elements of axis 1 that belong to one set, of `shape[1] // group`; 0
            where `axes` say all.
    """

    node: Node
    lowering: Lowering
    axes: tuple[int, ...]
    group: int = 0

    @property
    def source(self) -> str:
        """Name of the value whose elements they are."""
        return self.node.inputs[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its logical shape."""
        return self.lowering.types(self.source).shape

    @property
    def order(self) -> tuple[int, ...]:
        """Its logical axes from the slowest in memory to the fastest."""
        return layout_of(self.lowering.types(self.source)).order

    @property
    def count(self) -> int:
        """Elements of a set."""
        return math.prod(self.shape[d] for d in self.axes) * (self.group or 1)

    def element(self, place: Place) -> Load:
        """The element at a place."""
        return self.lowering.load(self.source, place)

    def reduce(self, kind: str, element: Element, function: str = "add") -> Element:
        """Stages that reduce each set; the result is what they give at any of its places.

        Args:
            kind: What to call the last stage.
            element: What is reduced.
            function: Accumulates.
        """
        inner = self.inner_extent()
        if inner < 2 * PARTIAL:
            name = self.lowering.stage_name(kind)
            reduced = self._reduced(self.axes)
            place = self._place(name)
            self._accumulate(name, [*self._kept(), *reduced], element(place), function)
            return self._reader(name)
        return self._reduce_contiguous(kind, element, function, inner)

    def _reduce_contiguous(self, kind: str, element: Element, function: str, inner: int) -> Element:
        """Partial results of every `PARTIAL`-th element, the elements that are left, then both."""
        last = self._last_axis()
        others = self._reduced([d for d in self.axes if d != last])
        lanes = self.lowering.stage_name(f"{kind}_lanes")
        blocks = Axis("block", inner // PARTIAL, "reduce")
        at = var(f"{lanes}.block") * PARTIAL + var(f"{lanes}.lane")
        axes = [*self._kept(), Axis("lane", PARTIAL), *others, blocks]
        self._accumulate(lanes, axes, element(self._place(lanes, {last: at})), function)
        left = inner % PARTIAL
        rest = self.lowering.stage_name(f"{kind}_rest") if left else ""
        if left:
            at = var(f"{rest}.left") + (inner - left)
            axes = [*self._kept(), *others, Axis("left", left, "reduce")]
            self._accumulate(rest, axes, element(self._place(rest, {last: at})), function)
        name = self.lowering.stage_name(kind)
        part = var(f"{name}.part")
        value: Value = Load(lanes, (*self._sets(name), part))
        if left:
            whole = Load(rest, self._sets(name))
            value = Select((as_index(PARTIAL - 1) - part,), value, whole)
        parts = Axis("part", PARTIAL + bool(left), "reduce")
        self._accumulate(name, [*self._kept(), parts], value, function)
        return self._reader(name)

    def each(self, kind: str, value: Element) -> Element:
        """A stage with one value a set."""
        name = self.lowering.stage_name(kind)
        first = {d: as_index(0) for d in self.axes}
        if self.group:
            first[1] = var(f"{name}.i1") * self.group
        self.lowering.temporary(self.node, name, self._kept(), value(self._place(name, first)))
        return self._reader(name)

    def full(self, kind: str, value: Element) -> Element:
        """A stage with one value an element."""
        name = self.lowering.stage_name(kind)
        order = self.order
        place = [var(f"{name}.i{d}") for d in range(len(order))]
        axes = [Axis(f"i{d}", self.shape[d]) for d in order]
        self.lowering.temporary(self.node, name, axes, value(place))
        return lambda at: Load(name, tuple(as_index(at[d]) for d in order))

    def store(self, kind: str, value: Element) -> None:
        """The stage that makes the node's output, of the shape of the input."""
        name = self.lowering.stage_name(kind)
        out = self.lowering.axes_of(name, self.node.output)
        self.lowering.store(self.node, name, out.axes, out.index, value(out.index))

    def _accumulate(self, name: str, axes: list[Axis], value: Value, function: str) -> None:
        init = Const(_START[function])
        self.lowering.temporary(self.node, name, axes, value, reduce=function, init=init)

    def _last_axis(self) -> int:
        """The logical axis that is contiguous in memory; -1 if nothing is longer than 1."""
        return next((d for d in reversed(self.order) if self.shape[d] > 1), -1)

    def inner_extent(self) -> int:
        """Elements of a set that are neighbours in memory, along one axis; 0 if they are not."""
        last = self._last_axis()
        return self.shape[last] if last in self.axes else 0

    def _kept(self) -> list[Axis]:
        """The axes of the sets, as their elements lie in memory."""
        axes: list[Axis] = []
        for d in self.order:
            if self.group and d == 1:
                axes.append(Axis("i1", self.shape[1] // self.group))
            elif d not in self.axes:
                axes.append(Axis(f"i{d}", self.shape[d]))
        return axes

    def _reduced(self, axes: Sequence[int]) -> list[Axis]:
        """The axes along which a set extends, as they lie in memory."""
        found: list[Axis] = []
        for d in self.order:
            if d in axes:
                found.append(Axis(f"r{d}", self.shape[d], "reduce"))
            elif self.group and d == 1:
                found.append(Axis("r1", self.group, "reduce"))
        return found

    def _place(self, stage: str, known: dict[int, Index] | None = None) -> list[Index]:
        """The place of an element in the variables of a reduction or of a stage of sets."""
        place: list[Index] = []
        for d in range(len(self.shape)):
            if known and d in known:
                place.append(known[d])
            elif self.group and d == 1:
                place.append(var(f"{stage}.i1") * self.group + var(f"{stage}.r1"))
            else:
                place.append(var(f"{stage}.{'r' if d in self.axes else 'i'}{d}"))
        return place

    def _sets(self, stage: str) -> tuple[Index, ...]:
        """The index of a set in the variables of a stage."""
        return tuple(var(f"{stage}.{axis.name}") for axis in self._kept())

    def _reader(self, name: str) -> Element:
        """Loads the value of the set that a place belongs to."""
        kept = [int(axis.name[1:]) for axis in self._kept()]

        def load(place: Place) -> Load:
            index = [
                as_index(place[d]) // self.group if self.group and d == 1 else as_index(place[d])
                for d in kept
            ]
            return Load(name, tuple(index))

        return load
