"""Gives the pointers of innermost loops a start of their own, which compilers keep as it is.

Read `anchor_pointers` first. Compilers rewrite the addresses of a loop in terms of those around it.
What is saved outside costs inside: offsets leave the range that instructions can hold, and each
load then takes another instruction. A loop that only loads gets, just before it, one opaque pointer
to the first element that its first iteration reads of each operand.
"""

from __future__ import annotations

from dataclasses import replace

from ago.codegen.tree import (
    Block,
    Broadcast,
    Load,
    Loop,
    Node,
    Piece,
    Pointer,
    Tree,
    Write,
    map_blocks,
)
from ago.ir.index import variables


def anchor_pointers(tree: Tree) -> Tree:
    """Start the pointers that innermost loops move at their least offset there.

    Args:
        tree: A function.

    Returns:
        The function; `Loop.anchored` are the pointers that the printer declares before a loop.
    """
    pointers = list(tree.pointers)
    body = _anchor(tree.body, pointers)
    return replace(tree, body=body, pointers=tuple(pointers))


def _anchor(body: tuple[Piece, ...], pointers: list[Pointer]) -> tuple[Piece, ...]:
    result: list[Piece] = []
    for piece in body:
        if isinstance(piece, Block):
            result.append(piece)
        elif isinstance(piece, Loop) and all(isinstance(p, Block) for p in piece.body):
            result.append(_anchor_loop(piece, pointers))
        else:
            result.append(replace(piece, body=_anchor(piece.body, pointers)))
    return tuple(result)


def _anchor_loop(loop: Loop, pointers: list[Pointer]) -> Loop:
    blocks = [piece for piece in loop.body if isinstance(piece, Block)]
    if any(isinstance(action, Write) for block in blocks for action in block.actions):
        return loop
    moved: dict[int, tuple[int, int]] = {}
    for number, start in _least_offsets(blocks).items():
        pointer = pointers[number]
        if pointer.dtype == "f32" and loop.name in variables(pointer.base):
            moved[number] = (len(pointers), start)
            pointers.append(replace(pointer, base=pointer.base + start))
    anchored = frozenset(number for number, _ in moved.values())
    body = map_blocks(loop.body, lambda block: _moved(block, moved))
    return replace(loop, body=body, anchored=anchored)


def _least_offsets(blocks: list[Block]) -> dict[int, int]:
    """The least offset at which each pointer is loaded from."""
    least: dict[int, int] = {}
    for node in (node for block in blocks for node in block.nodes):
        if isinstance(node, Load | Broadcast):
            least[node.pointer] = min(node.offset, least.get(node.pointer, node.offset))
    return least


def _moved(block: Block, moved: dict[int, tuple[int, int]]) -> Block:
    def load(node: Node) -> Node:
        if isinstance(node, Load | Broadcast) and node.pointer in moved:
            number, start = moved[node.pointer]
            return replace(node, pointer=number, offset=node.offset - start)
        return node

    return replace(block, nodes=tuple(load(node) for node in block.nodes))
