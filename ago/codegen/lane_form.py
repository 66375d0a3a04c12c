"""Replaces broadcast loads by one vector load and its lanes.

Where a block broadcasts as many consecutive floats of one buffer as a vector has lanes, one load
and the lane form of FMA do the same. One rule for rows read in place and for packed operands.
"""

from __future__ import annotations

from dataclasses import replace

from ago.codegen.tree import Block, Broadcast, Lane, Load, Piece, map_blocks


def use_lanes(body: tuple[Piece, ...], lanes: int) -> tuple[Piece, ...]:
    """Rewrite every block below `body`.

    Args:
        body: Pieces of a function.
        lanes: float32 lanes of a vector.
    """
    return map_blocks(body, lambda block: _block(block, lanes))


def _block(block: Block, lanes: int) -> Block:
    rows: dict[tuple[int, int], dict[int, int]] = {}
    for position, node in enumerate(block.nodes):
        if isinstance(node, Broadcast) and position not in block.lazy:
            rows.setdefault((node.pointer, node.version), {})[node.offset] = position
    nodes = list(block.nodes)
    for (pointer, version), row in rows.items():
        for start in _runs(sorted(row), lanes):
            vector = len(nodes)
            nodes.append(Load(pointer, start, lanes, version))
            for lane in range(lanes):
                nodes[row[start + lane]] = Lane(vector, lane)
    return block if len(nodes) == len(block.nodes) else replace(block, nodes=tuple(nodes))


def _runs(offsets: list[int], lanes: int) -> list[int]:
    """Starts of disjoint runs of `lanes` consecutive numbers in a sorted list."""
    starts: list[int] = []
    position = 0
    while position + lanes <= len(offsets):
        if offsets[position + lanes - 1] - offsets[position] == lanes - 1:
            starts.append(offsets[position])
            position += lanes
        else:
            position += 1
    return starts
