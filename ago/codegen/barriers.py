"""Where compilers must not begin early what a block does late, since they run out of registers.

Read `factor_depths`, `window_turns` and `settled` first: of certain loads, which stay behind a
barrier, and of what is done with the results of a tile, which waits for all of it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from ago.codegen.tree import (
    Apply,
    Assign,
    Block,
    Broadcast,
    Fetch,
    Lane,
    Load,
    Register,
    Write,
    operands,
)

_SHARED = 4
"""Uses from which a vector counts as one that a whole tile shares."""

_ROOM = 8
"""Registers in which the last steps of a tile and what its results go through fit side by side."""

_TOGETHER = 4
"""Results on which a long computation is done side by side: their latencies hide each other."""


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


def settled(block: Block, library: Container[str], registers: int) -> dict[int, tuple[str, ...]]:
    """Accumulators that must have their values before an action, by the action's number.

    All of a large tile comes before the first of its results is stored, so that its last steps need
    no room beside what the results go through. So does all of a tile whose results go through
    library functions, which then take a few of them at a time: not many calls are mixed.

    Args:
        block: Straight-line code.
        library: The functions that take many instructions.
        registers: Vector registers of the target; a tile is large that leaves few of them.
    """
    found: dict[int, tuple[str, ...]] = {}
    for first, stores in _stored(block):
        tile = _names(stores)
        assigned = {a.register for a in block.actions[:first] if isinstance(a, Assign)}
        if len(tile) <= _TOGETHER or not assigned.issuperset(tile):
            continue
        writes = block.actions[first : first + len(stores)]
        if all(isinstance(w, Write) and _is_long(block, w, library) for w in writes):
            for start in range(0, len(stores), _TOGETHER):
                found[first + start] = _names(stores[start : start + _TOGETHER])
        elif registers - len(tile) > _ROOM:
            continue
        found[first] = (*tile, *found.get(first, ()))
    return found


def _names(stores: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The accumulators that some stores read, each once."""
    return tuple(dict.fromkeys(name for store in stores for name in store))


def _stored(block: Block) -> Iterator[tuple[int, list[tuple[str, ...]]]]:
    """Runs of stores of accumulators: where each begins, and what each of its stores reads."""
    run: list[tuple[str, ...]] = []
    for number, action in enumerate(block.actions):
        read = _accumulators(block, action) if isinstance(action, Write) else ()
        if read:
            run.append(read)
        elif run:
            yield number - len(run), run
            run = []
    if run:
        yield len(block.actions) - len(run), run


def _accumulators(block: Block, write: Write) -> tuple[str, ...]:
    """The vector variables of which a store's value is computed."""
    nodes = (block.nodes[position] for position in sorted(_reached(block, write.node)))
    return tuple(node.name for node in nodes if isinstance(node, Register) and node.vector)


def _is_long(block: Block, write: Write, library: Container[str]) -> bool:
    """Whether a store's value is computed by a library function."""
    nodes = (block.nodes[position] for position in _reached(block, write.node))
    return any(isinstance(node, Apply) and node.function in library for node in nodes)


def _reached(block: Block, position: int) -> set[int]:
    """A node and all that it is computed from."""
    found = {position}
    pending = [position]
    while pending:
        new = set(operands(block.nodes[pending.pop()])) - found
        found |= new
        pending.extend(new)
    return found
