"""Instruction selection: expands unrolled and vector loops of a resolved program into a tree.

Read `select` first. Every leaf is expanded in program order; within a straight-line block equal
values are one node, and a store makes later loads of its buffer new ones. Register buffers become
named variables, a variable for each vector (or each element, where they are accessed as scalars).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ago.codegen.accesses import Accesses
from ago.codegen.block_builder import BlockBuilder
from ago.codegen.conditions import Conditions, Lanes, is_prefix
from ago.codegen.ctext import Names
from ago.codegen.expansion import Expansion
from ago.codegen.linear import Linear
from ago.codegen.tree import (
    Apply,
    Assign,
    Broadcast,
    Choose,
    Collect,
    Element,
    Fetch,
    Guard,
    Load,
    Loop,
    Number,
    Ordinal,
    Piece,
    Register,
    Shuffle,
    Tree,
    Write,
)
from ago.errors import CodegenError
from ago.ir import value as ir
from ago.ir.bounds import Interval, interval
from ago.ir.nest import For, If, Prefetch, Reduce, Stmt, Store, Update
from ago.ir.program import Program

Leaf = Store | Update


def select(program: Program, lanes: int, names: Names, functions: Collection[str]) -> Tree:
    """Expand a resolved program.

    Args:
        program: Decomposed and resolved: unrolled and vector loops have constant bounds.
        lanes: float32 lanes of a vector; 1 for scalar code.
        names: Where the names of register variables come from.
        functions: Scalar functions that have a vector form.

    Returns:
        The tree.

    Raises:
        CodegenError: A register buffer is indexed by a serial loop, or accessed both as vectors and
            as scalars; a vector loop contains a loop.
    """
    return _Selector(program, lanes, names, functions).tree()


class _Selector:
    def __init__(
        self, program: Program, lanes: int, names: Names, functions: Collection[str]
    ) -> None:
        self._program = program
        self._lanes = lanes
        self._functions = functions
        self._expansion = Expansion(program, lanes)
        self._vectors_from: tuple[str, int] | None = None
        self._buffers = {buffer.name: buffer for buffer in program.buffers}
        self._conditions = Conditions(self._expansion.loops)
        self._accesses = Accesses(program, lanes, names, self._expansion.loops)
        self._block = BlockBuilder()
        self._ranges: dict[str, Interval] = {}

    def tree(self) -> Tree:
        body = self.pieces(self._program.body, {})
        registers = tuple(self._accesses.registers.values())
        return Tree(body, tuple(self._accesses.pointers), registers)

    # Loops and guards

    def pieces(self, body: tuple[Stmt, ...], values: Mapping[str, int]) -> tuple[Piece, ...]:
        """The pieces of a scope: blocks between the loops and guards that stay."""
        outer, self._block = self._block, BlockBuilder()
        result: list[Piece] = []
        self._scope(body, values, result)
        self._flush(result)
        self._block = outer
        return tuple(result)

    def _flush(self, result: list[Piece]) -> None:
        if self._block.actions:
            result.append(self._block.build())
        self._block = BlockBuilder()

    def _scope(
        self, body: tuple[Stmt, ...], values: Mapping[str, int], result: list[Piece]
    ) -> None:
        for stmt in body:
            match stmt:
                case Store() | Update():
                    self._leaf(stmt, values, None)
                case For():
                    self._for(stmt, values, result)
                case If():
                    self._if(stmt, values, result)
                case Prefetch(buffer, index):
                    access = self._accesses.linear(buffer, index, id(stmt))
                    self._block.actions.append(
                        Fetch(*self._accesses.address(buffer, access, values))
                    )
                case Reduce():
                    raise CodegenError(f"{self._where(stmt.stage)}: reduction was not decomposed")

    def _for(self, loop: For, values: Mapping[str, int], result: list[Piece]) -> None:
        if loop.name not in self._expansion.loops:
            self._flush(result)
            lo, hi = (self._conditions.fixed(bound, values) for bound in (loop.lo, loop.hi))
            low, high = interval(lo, self._ranges)[0], interval(hi, self._ranges)[1]
            self._ranges[loop.name] = (low, high - 1)
            body = self.pieces(loop.body, values)
            result.append(Loop(loop.name, lo, hi, body, parallel=loop.kind == "parallel"))
            return
        lo, hi = (self._conditions.fixed(bound, values) for bound in (loop.lo, loop.hi))
        if not (lo.is_constant and hi.is_constant):
            raise CodegenError(
                f"{self._program.name}: bounds {lo} to {hi} of the {loop.kind} loop {loop.name} "
                "are not constant"
            )
        if loop.kind == "vector" and self._lanes > 1:
            for start in range(lo.const, hi.const, self._lanes):
                part = Lanes(loop.name, min(self._lanes, hi.const - start))
                self._vector(loop.body, {**values, loop.name: start}, part)
            return
        for value in range(lo.const, hi.const):
            self._scope(loop.body, {**values, loop.name: value}, result)

    def _if(self, guard: If, values: Mapping[str, int], result: list[Piece]) -> None:
        open_ = self._conditions.open(guard.condition, values)
        if open_ is None:
            return
        if not open_:
            self._scope(guard.body, values, result)
            return
        self._flush(result)
        result.append(Guard(open_, self.pieces(guard.body, values)))

    def _vector(self, body: tuple[Stmt, ...], values: Mapping[str, int], part: Lanes) -> None:
        for stmt in body:
            match stmt:
                case Store() | Update():
                    self._leaf(stmt, values, part)
                case If(condition, inner):
                    mask = self._conditions.mask(condition, values, part)
                    if mask is None or not is_prefix(mask):
                        raise CodegenError(
                            f"{self._program.name}: the lane mask of vector loop {part.loop} "
                            "is not a constant number of lanes; split the loops that it depends on"
                        )
                    if any(mask):
                        self._vector(inner, values, Lanes(part.loop, sum(mask)))
                case _:
                    raise CodegenError(
                        f"{self._program.name}: vector loop {part.loop} contains another loop; "
                        "vectorize the innermost one"
                    )

    # Leaves

    def _leaf(self, leaf: Leaf, values: Mapping[str, int], part: Lanes | None) -> None:
        target = self._accesses.linear(leaf.buffer, leaf.index, id(leaf))
        if part is not None and not self._expansion.is_real(leaf):
            self._element_leaf(leaf, values, part)
            return
        if part is not None and target.step(part.loop) != 1:
            self._strided_leaf(leaf, target, values, part)
            return
        value = self._new_value(leaf, target, values, part)
        if self._buffers[leaf.buffer].scope == "register":
            register = self._accesses.register(leaf.buffer, target, values, part is not None)
            versions = self._block.versions
            versions[register.name] = versions.get(register.name, 0) + 1
            self._block.actions.append(Assign(register.name, value, leaf.stage))
            return
        pointer, offset = self._accesses.address(leaf.buffer, target, values)
        lanes = 0 if part is None else part.count
        self._block.actions.append(Write(pointer, offset, lanes, value, leaf.stage))
        versions = self._block.versions
        versions[leaf.buffer] = versions.get(leaf.buffer, 0) + 1

    def _element_leaf(self, leaf: Leaf, values: Mapping[str, int], part: Lanes) -> None:
        """A leaf that is computed lane by lane, from elements of vectors in registers."""
        start = values[part.loop]
        self._vectors_from = (part.loop, start)
        for lane in range(part.count):
            self._leaf(leaf, {**values, part.loop: start + lane}, None)
        self._vectors_from = None

    def _strided_leaf(
        self, leaf: Leaf, target: Linear, values: Mapping[str, int], part: Lanes
    ) -> None:
        """A leaf whose lanes go to places apart: from a vector in registers, else as scalars."""
        places = [{**values, part.loop: values[part.loop] + k} for k in range(part.count)]
        memory = self._buffers[leaf.buffer].scope != "register"
        if not (memory and isinstance(leaf, Store) and self._reads_vectors(leaf.value, part.loop)):
            for place in places:
                self._leaf(leaf, place, None)
            return
        vector = self._value(leaf.value, values, part)
        for lane, place in enumerate(places):
            pointer, offset = self._accesses.address(leaf.buffer, target, place)
            element = self._block.add(Element(vector, lane))
            self._block.actions.append(Write(pointer, offset, 0, element, leaf.stage))
        versions = self._block.versions
        versions[leaf.buffer] = versions.get(leaf.buffer, 0) + 1

    def _reads_vectors(self, value: ir.Value, loop: str) -> bool:
        """Whether a value is made of register variables that are vectors along the loop.

        Or of vectors in memory alone.
        """
        steps = [
            (
                self._buffers[load.buffer].scope,
                self._accesses.linear(load.buffer, load.index, id(load)).step(loop),
            )
            for load, _ in ir.loads(value)
        ]
        return ("register", 1) in steps or all(step in (0, 1) for _, step in steps)

    def _new_value(
        self, leaf: Leaf, target: Linear, values: Mapping[str, int], part: Lanes | None
    ) -> int:
        """The node that a leaf stores."""
        if isinstance(leaf, Store):
            return self._value(leaf.value, values, part)
        vector = part is not None
        value = leaf.value
        fused = leaf.function == "add" and self._expansion.types[leaf.buffer] == "f32"
        if fused and isinstance(value, ir.Call) and value.function == "mul":
            factors = [self._value(factor, values, part) for factor in value.args]
            old = self._read(leaf.buffer, target, values, part)
            return self._block.add(Apply("fma", (*factors, old), vector))
        new = self._value(value, values, part)
        old = self._read(leaf.buffer, target, values, part)
        return self._block.add(Apply(leaf.function, (old, new), vector))

    def _value(self, value: ir.Value, values: Mapping[str, int], part: Lanes | None) -> int:
        match value:
            case ir.Const(number, dtype):
                return self._block.add(Number(number, part is not None, dtype))
            case ir.Position(index):
                return self._block.add(Ordinal(self._conditions.fixed(index, values)))
            case ir.Load(buffer, index):
                access = self._accesses.linear(buffer, index, id(value))
                return self._load(value, access, values, part)
            case ir.Call(function) if part is not None and function not in self._functions:
                return self._collect(value, values, part)
            case ir.Call(function, args):
                nodes = tuple(self._value(arg, values, part) for arg in args)
                return self._block.add(Apply(function, nodes, part is not None))
            case ir.Select():
                return self._select(value, values, part)

    def _load(
        self, load: ir.Load, access: Linear, values: Mapping[str, int], part: Lanes | None
    ) -> int:
        if part is None:
            return self._read(load.buffer, access, values, None)
        step = access.step(part.loop)
        if step == 1 and load.buffer not in self._expansion.element_registers:
            return self._read(load.buffer, access, values, part)
        if step != 0:
            return self._pick(load, access, values, part)
        if self._buffers[load.buffer].scope == "register":
            return self._block.add(Collect((self._read(load.buffer, access, values, None),)))
        pointer, offset = self._accesses.address(load.buffer, access, values)
        version = self._block.versions.get(load.buffer, 0)
        return self._block.add(Broadcast(pointer, offset, version))

    def _pick(self, load: ir.Load, access: Linear, values: Mapping[str, int], part: Lanes) -> int:
        """A load whose lanes are not neighbours: picked from one vector, where that holds them."""
        if self._buffers[load.buffer].scope == "register":
            return self._collect(load, values, part)
        start = values[part.loop]
        places = [
            self._accesses.address(load.buffer, access, {**values, part.loop: start + lane})
            for lane in range(part.count)
        ]
        pointers, offsets = ({place[k] for place in places} for k in (0, 1))
        pointer, low, span = places[0][0], min(offsets), max(offsets) - min(offsets) + 1
        if len(pointers) > 1 or span > self._lanes:
            return self._collect(load, values, part)
        version = self._block.versions.get(load.buffer, 0)
        first, count = self._window(pointer, low, span)
        vector = self._block.add(Load(pointer, first, count, version))
        lanes = [offset - first for _, offset in places] + [-1] * (self._lanes - part.count)
        return self._block.add(Shuffle(vector, vector, tuple(lanes)))

    def _window(self, pointer: int, low: int, span: int) -> tuple[int, int]:
        """First place and length of a load of `span` places from `low` on.

        A whole vector is cheaper than a part of one, if it lies within the buffer: from the first
        place on, or up to the last one.
        """
        for first in (low, low + span - self._lanes):
            if self._accesses.is_inside(pointer, first, self._lanes, self._ranges):
                return first, self._lanes
        return low, span

    def _select(self, value: ir.Select, values: Mapping[str, int], part: Lanes | None) -> int:
        if part is not None and self._conditions.varies(value.condition, part.loop):
            return self._select_lanes(value, values, part)
        open_ = self._conditions.open(value.condition, values)
        if open_ is None:
            return self._value(value.otherwise, values, part)
        if not open_:
            return self._value(value.then, values, part)
        then = self._block.branch(lambda: self._value(value.then, values, part))
        otherwise = self._block.branch(lambda: self._value(value.otherwise, values, part))
        return self._block.add(Choose(open_, then, otherwise))

    def _select_lanes(self, value: ir.Select, values: Mapping[str, int], part: Lanes) -> int:
        """A select whose condition differs between lanes."""
        mask = self._conditions.mask(value.condition, values, part)
        if mask is None:
            return self._collect(value, values, part)
        if all(mask):
            return self._value(value.then, values, part)
        if not any(mask):
            return self._value(value.otherwise, values, part)
        zero = value.otherwise == ir.Const(0.0)
        if zero and isinstance(value.then, ir.Load) and is_prefix(mask):
            access = self._accesses.linear(value.then.buffer, value.then.index, id(value.then))
            memory = self._buffers[value.then.buffer].scope != "register"
            if memory and access.step(part.loop) == 1:
                return self._value(value.then, values, Lanes(part.loop, sum(mask)))
        return self._collect(value, values, part)

    def _collect(self, value: ir.Value, values: Mapping[str, int], part: Lanes) -> int:
        """A vector put together from scalars: correct anywhere, and slow."""
        start = values[part.loop]
        lanes = [
            self._value(value, {**values, part.loop: start + lane}, None)
            for lane in range(part.count)
        ]
        lanes += [self._block.add(Number(0.0, vector=False))] * (self._lanes - part.count)
        return self._block.add(Collect(tuple(lanes)))

    # Accesses

    def _read(
        self, buffer: str, access: Linear, values: Mapping[str, int], part: Lanes | None
    ) -> int:
        if self._buffers[buffer].scope == "register":
            if part is None and self._is_vector_element(buffer, access):
                return self._element(buffer, access, values)
            register = self._accesses.register(buffer, access, values, part is not None)
            version = self._block.versions.get(register.name, 0)
            return self._block.add(Register(register.name, register.vector, version))
        pointer, offset = self._accesses.address(buffer, access, values)
        lanes = 0 if part is None else part.count
        version = self._block.versions.get(buffer, 0)
        return self._block.add(Load(pointer, offset, lanes, version))

    def _is_vector_element(self, buffer: str, access: Linear) -> bool:
        """Whether a scalar read in a leaf computed lane by lane is one of a vector's lanes."""
        if self._vectors_from is None or buffer in self._expansion.element_registers:
            return False
        return access.step(self._vectors_from[0]) == 1

    def _element(self, buffer: str, access: Linear, values: Mapping[str, int]) -> int:
        assert self._vectors_from is not None
        loop, start = self._vectors_from
        register = self._accesses.register(buffer, access, {**values, loop: start}, True)
        version = self._block.versions.get(register.name, 0)
        vector = self._block.add(Register(register.name, register.vector, version))
        return self._block.add(Element(vector, values[loop] - start))

    def _where(self, stage: str) -> str:
        origin = next((s.origin for s in self._program.stages if s.name == stage), "")
        return f"{self._program.name}, stage {stage}" + (f" ({origin})" if origin else "")
