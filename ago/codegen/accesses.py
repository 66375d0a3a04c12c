"""Where the accesses of a program's leaves go: pointers with offsets, or register variables.

Read `Accesses` first. It numbers the pointers of one function and names its register variables, a
variable for each vector of a register buffer, or for each element where it is accessed as scalars.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from ago.codegen.ctext import Names
from ago.codegen.linear import Linear, flat_index, linear
from ago.codegen.tree import Pointer, RegisterVariable
from ago.errors import CodegenError
from ago.ir.bounds import Ranges, interval
from ago.ir.index import Index
from ago.ir.program import Program


class Accesses:
    """Pointers and register variables of one function.

    Attributes:
        pointers: Every pointer, by number.
        registers: Every register variable, by buffer and position of its first element.
    """

    def __init__(
        self, program: Program, lanes: int, names: Names, expanded: AbstractSet[str]
    ) -> None:
        """Start without any.

        Args:
            program: The resolved program.
            lanes: float32 lanes of a vector.
            names: Where the names of register variables come from.
            expanded: Loops that copies of their bodies replace.
        """
        self.pointers: list[Pointer] = []
        self.registers: dict[tuple[str, int], RegisterVariable] = {}
        self._program = program
        self._lanes = lanes
        self._names = names
        self._expanded = expanded
        self._buffers = {buffer.name: buffer for buffer in program.buffers}
        self._linear: dict[int, Linear] = {}
        self._numbers: dict[Pointer, int] = {}
        self._numbers_by_id: dict[tuple[str, int], int] = {}
        self._vectors: dict[str, bool] = {}

    def linear(self, buffer: str, index: tuple[Index, ...], key: int) -> Linear:
        """The row-major position of `buffer[index]`, prepared once for each `key`."""
        known = self._linear.get(key)
        if known is None:
            known = linear(flat_index(self._buffers[buffer], index), self._expanded)
            self._linear[key] = known
        return known

    def address(self, buffer: str, access: Linear, values: Mapping[str, int]) -> tuple[int, int]:
        """The pointer's number and the constant offset behind it, elements."""
        base, offset = access.at(values)
        if base is not access.base:
            return self._number(self._pointer(buffer, base)), offset
        key = (buffer, id(base))  # `_linear` keeps the object, so its id stays its own
        number = self._numbers_by_id.get(key)
        if number is None:
            number = self._numbers_by_id[key] = self._number(self._pointer(buffer, base))
        return number, offset

    def is_inside(self, pointer: int, offset: int, count: int, ranges: Ranges) -> bool:
        """Whether `count` elements from an offset behind a pointer are all in its buffer.

        Args:
            pointer: Its number.
            offset: Elements behind it.
            count: Elements that are to be accessed.
            ranges: Ranges of the serial loops.
        """
        place = self.pointers[pointer]
        low, high = interval(place.base, ranges)
        size = math.prod(self._buffers[place.buffer].shape)
        return low + offset >= 0 and high + offset + count <= size

    def _pointer(self, buffer: str, base: Index) -> Pointer:
        return Pointer(buffer, base, self._buffers[buffer].dtype)

    def _number(self, pointer: Pointer) -> int:
        number = self._numbers.get(pointer)
        if number is None:
            number = len(self.pointers)
            self._numbers[pointer] = number
            self.pointers.append(pointer)
        return number

    def register(
        self, buffer: str, access: Linear, values: Mapping[str, int], vector: bool
    ) -> RegisterVariable:
        """The variable that holds an element, or a vector from that element on.

        Raises:
            CodegenError: The position depends on a serial loop, or the buffer is accessed both as
                vectors and as scalars, or a vector starts inside another.
        """
        base, offset = access.at(values)
        if base.terms:
            raise self._error(
                buffer, f"is indexed by {base}; unroll those loops, or store it elsewhere"
            )
        if self._vectors.setdefault(buffer, vector) != vector:
            raise self._error(buffer, "is accessed as vectors and as scalars")
        known = self.registers.get((buffer, offset))
        if known is None:
            name = self._register_name(buffer, offset, vector)
            known = RegisterVariable(name, buffer, vector, self._buffers[buffer].dtype)
            self.registers[buffer, offset] = known
        return known

    def _register_name(self, buffer: str, offset: int, vector: bool) -> str:
        shape = self._buffers[buffer].shape
        lanes = self._lanes if vector else 1
        row = shape[-1] if shape else 1
        if offset % row % lanes:
            raise self._error(
                buffer,
                f"holds a vector from element {offset % row} of a row on, which is no multiple of "
                f"the {lanes} lanes",
            )
        parts: list[str] = []
        rest = offset
        for extent, unit in zip(reversed(shape), (lanes, *[1] * len(shape)), strict=False):
            if extent > unit:
                parts.append(str(rest % extent // unit))
            rest //= extent
        return self._names.new("_".join([buffer, *reversed(parts)]))

    def _error(self, buffer: str, what: str) -> CodegenError:
        return CodegenError(f"{self._program.name}: register buffer {buffer} {what}")
