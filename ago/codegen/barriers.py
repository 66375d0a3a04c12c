"""Where loads must not move ahead of what stands before them.

Read `factor_depths` and `window_turns` first. Compilers load early what a block needs late, and run
out of registers; a barrier in front of certain loads keeps them where they are used.
"""

from __future__ import annotations

from collections.abc import Sequence

from ago.codegen.tree import Block, Broadcast, Fetch, Lane, Load, operands

_SHARED = 4
"""Uses from which a vector counts as one that a whole tile shares."""


def factor_depths(block: Block) -> dict[int, int]:
    """How many vectors of factors come before each in a run of neighbours, by the load's position.

    Each next depth needs a barrier in front.

    Args:
        block: Straight-line code.
    """
    found: dict[tuple[int, int, int], int] = {}
    for node in block.nodes:
        if isinstance(node, Lane):
            load = block.nodes[node.vector]
            if isinstance(load, Load):
                found[load.pointer, load.version, load.offset] = node.vector
    depths: dict[int, int] = {}
    for pointer, version, offset in sorted(found):
        load = block.nodes[found[pointer, version, offset]]
        assert isinstance(load, Load)
        before = found.get((pointer, version, offset - load.lanes))
        depths[found[pointer, version, offset]] = 0 if before is None else depths[before] + 1
    return depths


def window_turns(block: Block, uses: Sequence[int]) -> frozenset[int]:
    """Shared vectors that are loaded where all those before them are done with, as positions.

    So begins each row of a window whose weights are vectors: of a depthwise convolution.

    Args:
        block: Straight-line code.
        uses: How often each node is used.
    """
    if any(isinstance(node, Broadcast | Lane) for node in block.nodes):
        return frozenset()
    spans: dict[int, tuple[int, int]] = {}
    for number, action in enumerate(block.actions):
        if isinstance(action, Fetch):
            continue
        for position in _reached(block, action.node):
            node = block.nodes[position]
            if isinstance(node, Load) and node.lanes and uses[position] >= _SHARED:
                first, _ = spans.get(position, (number, number))
                spans[position] = (first, number)
    turns: set[int] = set()
    done = -1
    for position, (first, last) in sorted(spans.items(), key=lambda item: item[1][0]):
        if 0 <= done < first:
            turns.add(position)
        done = max(done, last)
    return frozenset(turns)


def _reached(block: Block, position: int) -> set[int]:
    """A node and all that it is computed from."""
    found = {position}
    pending = [position]
    while pending:
        new = set(operands(block.nodes[pending.pop()])) - found
        found |= new
        pending.extend(new)
    return found
