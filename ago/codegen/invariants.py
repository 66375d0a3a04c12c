"""Decides which innermost loops must not have their invariant loads hoisted by the compiler.

Read `keep_loads` first. Compilers hoist every load that does not change in a loop, also when they
have no register left for it: a tile over few input channels then spills dozens of broadcasts. Such
loops get opaque copies of the pointers, so that the loads stay at their use.
"""

from __future__ import annotations

from dataclasses import replace

from ago.codegen.tree import (
    Assign,
    Block,
    Broadcast,
    Guard,
    Load,
    Loop,
    Piece,
    Pointer,
    Register,
    Write,
)
from ago.ir.index import variables

_SPARE = 2
"""Registers left for operands that change."""


def keep_loads(
    body: tuple[Piece, ...], pointers: tuple[Pointer, ...], registers: int
) -> tuple[Piece, ...]:
    """Mark the invariant pointers of each innermost loop where their loads exceed the registers.

    Args:
        body: Pieces of a function.
        pointers: The function's pointers, by number.
        registers: Vector registers of the target.
    """
    result: list[Piece] = []
    for piece in body:
        match piece:
            case Loop():
                inner = keep_loads(piece.body, pointers, registers)
                opaque = _too_many(piece, pointers, registers)
                result.append(replace(piece, body=inner, opaque=opaque))
            case Guard():
                result.append(replace(piece, body=keep_loads(piece.body, pointers, registers)))
            case Block():
                result.append(piece)
    return tuple(result)


def _too_many(loop: Loop, pointers: tuple[Pointer, ...], registers: int) -> frozenset[int]:
    """Pointers whose loads do not change in the loop, if those are more than its registers hold."""
    blocks = [piece for piece in loop.body if isinstance(piece, Block)]
    if len(blocks) < len(loop.body):
        return frozenset()
    actions = [action for block in blocks for action in block.actions]
    written = {pointers[a.pointer].buffer for a in actions if isinstance(a, Write)}
    used = {action.register for action in actions if isinstance(action, Assign)}
    loads: set[Load | Broadcast] = set()
    for node in (node for block in blocks for node in block.nodes):
        match node:
            case Register(name):
                used.add(name)
            case Load(pointer) | Broadcast(pointer):
                place = pointers[pointer]
                changes = loop.name in variables(place.base) or place.buffer in written
                if not changes and place.dtype == "f32":
                    loads.add(node)
    if len(loads) + len(used) + _SPARE <= registers:
        return frozenset()
    return frozenset(load.pointer for load in loads)
