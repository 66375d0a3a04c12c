"""Turns the stores of single lanes that together fill consecutive memory into stores of vectors.

Read `interleave` first. Where vectors lie apart by a step, such as the outputs of a channel
multiplier or the channels of an image, their lanes are shuffled in registers: a store a vector
instead of one a lane. Runs hold only stores into one buffer that nothing in them reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ago.codegen.tree import (
    Action,
    Block,
    Broadcast,
    Element,
    Load,
    Node,
    Number,
    Piece,
    Pointer,
    Shuffle,
    Write,
    map_blocks,
    operands,
)


def interleave(
    body: tuple[Piece, ...], pointers: tuple[Pointer, ...], lanes: int
) -> tuple[Piece, ...]:
    """Rewrite every block below `body`.

    Args:
        body: Pieces of a function.
        pointers: The function's pointers, by number.
        lanes: float32 lanes of a vector.
    """
    return map_blocks(body, lambda block: _block(block, pointers, lanes))


def _block(block: Block, pointers: Sequence[Pointer], lanes: int) -> Block:
    nodes = list(block.nodes)
    actions: list[Action] = []
    for run in _runs(block):
        if len(run) == 1 or not _is_free(block, run, pointers):
            actions += run
            continue
        writes = [action for action in run if isinstance(action, Write)]
        for chunk in _chunks(writes, lanes):
            actions.append(chunk[0] if len(chunk) == 1 else _vector_write(nodes, chunk, lanes))
    if len(actions) == len(block.actions):
        return block
    return replace(block, nodes=tuple(nodes), actions=tuple(actions))


def _runs(block: Block) -> Iterator[list[Action]]:
    """The actions: neighbouring stores of single lanes through one pointer together."""
    run: list[Action] = []
    pointer: int | None = None
    for action in block.actions:
        single = _stores_lane(block.nodes, action)
        found = action.pointer if isinstance(action, Write) and single else None
        if run and (found is None or found != pointer):
            yield run
            run = []
        run.append(action)
        pointer = found
    if run:
        yield run


def _stores_lane(nodes: Sequence[Node], action: Action) -> bool:
    return (
        isinstance(action, Write) and action.lanes == 0 and isinstance(nodes[action.node], Element)
    )


def _is_free(block: Block, run: Sequence[Action], pointers: Sequence[Pointer]) -> bool:
    """Whether the order of a run's stores does not matter: places differ, none of it is read."""
    writes = [action for action in run if isinstance(action, Write)]
    if len({write.offset for write in writes}) < len(writes):
        return False
    buffer = pointers[writes[0].pointer].buffer
    seen: set[int] = set()
    pending = [write.node for write in writes]
    while pending:
        position = pending.pop()
        if position in seen:
            continue
        seen.add(position)
        node = block.nodes[position]
        if isinstance(node, Load | Broadcast) and pointers[node.pointer].buffer == buffer:
            return False
        pending.extend(operands(node))
    return True


def _chunks(writes: Sequence[Write], lanes: int) -> Iterator[list[Write]]:
    """Stores to consecutive places, at most a vector at once."""
    chunk: list[Write] = []
    for write in sorted(writes, key=lambda write: write.offset):
        if chunk and (len(chunk) == lanes or write.offset != chunk[-1].offset + 1):
            yield chunk
            chunk = []
        chunk.append(write)
    if chunk:
        yield chunk


def _vector_write(nodes: list[Node], chunk: Sequence[Write], lanes: int) -> Write:
    """One store instead of several; the vector that it stores is added to the nodes."""
    wanted = [node for write in chunk if isinstance(node := nodes[write.node], Element)]
    first, *others = dict.fromkeys(element.vector for element in wanted)
    if not others and isinstance(nodes[first], Number):
        return replace(chunk[0], lanes=len(chunk), node=first)
    result, done = first, {first}
    for source in others or [first]:
        order = [-1] * lanes
        for place, element in enumerate(wanted):
            if element.vector in done:
                order[place] = element.lane if result == first else place
            elif element.vector == source:
                order[place] = lanes + element.lane
        nodes.append(Shuffle(result, source, tuple(order)))
        result = len(nodes) - 1
        done.add(source)
    return replace(chunk[0], lanes=len(chunk), node=result)
