"""Which loops of a resolved program are replaced by copies of their body, and what is a vector.

Read `Expansion` first. It looks at the program alone; `ago.codegen.select` asks it before it
expands anything.
"""

from __future__ import annotations

from ago.ir import value as ir
from ago.ir.index import variables
from ago.ir.nest import For, Leaf, leaves, walk
from ago.ir.program import Program
from ago.ir.value_types import buffer_types, is_real_leaf


class Expansion:
    """What becomes of loops and register buffers.

    Args:
        program: Decomposed and resolved.
        lanes: float32 lanes of a vector; 1 for scalar code.

    Attributes:
        types: Element types of the buffers.
        element_registers: Register buffers that are written as scalars, because of how the value
            is computed.
        loops: Names of the loops that copies of their body replace.
    """

    def __init__(self, program: Program, lanes: int) -> None:
        self._lanes = lanes
        self._registers = {b.name for b in program.buffers if b.scope == "register"}
        self.types = buffer_types(program.buffers)
        found = (leaf for leaf in leaves(program.body) if leaf.buffer in self._registers)
        self.element_registers = frozenset(
            leaf.buffer for leaf in found if not is_real_leaf(leaf, self.types)
        )
        self.loops = frozenset(
            stmt.name
            for stmt in walk(program.body)
            if isinstance(stmt, For) and self._is_expanded(stmt)
        )

    def is_real(self, leaf: Leaf) -> bool:
        """Whether a leaf computes float32 throughout, so that it may be a vector."""
        return leaf.buffer not in self.element_registers and is_real_leaf(leaf, self.types)

    def _is_expanded(self, loop: For) -> bool:
        """Whether copies of the body replace the loop; a scalar target keeps most vector loops."""
        if loop.kind == "unrolled":
            return True
        if loop.kind != "vector":
            return False
        return any(
            (self._lanes > 1 and self.is_real(leaf)) or self._in_register(leaf, loop.name)
            for leaf in leaves(loop.body)
        )

    def _in_register(self, leaf: Leaf, loop: str) -> bool:
        """Whether a loop moves which register a leaf stores to or reads."""
        accesses = [(leaf.buffer, leaf.index)]
        accesses += [(load.buffer, load.index) for load, _ in ir.loads(leaf.value)]
        return any(
            buffer in self._registers and loop in variables(position)
            for buffer, index in accesses
            for position in index
        )
