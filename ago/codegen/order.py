"""Reorders accumulations within a block where the order of the program needs too many registers.

Read `reorder` first. Accumulators keep the order of their own updates, so results do not change;
what changes is which loads are alive at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ago.codegen.tree import (
    Assign,
    Block,
    Broadcast,
    Lane,
    Load,
    Node,
    Piece,
    Register,
    Shuffle,
    map_blocks,
    operands,
)

_SPARE = 2
"""Registers left for constants and for what compilers keep."""


@dataclass(frozen=True, slots=True)
class _Update:
    """One accumulation: the action and the loads that it needs in registers."""

    action: Assign
    loads: tuple[int, ...]


def reorder(body: tuple[Piece, ...], registers: int) -> tuple[Piece, ...]:
    """Lower the register pressure of every block that has too much of it.

    Args:
        body: Pieces of a function.
        registers: Vector registers of the target.
    """
    return map_blocks(body, lambda block: _block(block, registers))


def _block(block: Block, registers: int) -> Block:
    actions = list(block.actions)
    for start, run in _runs(block):
        before = _pressure(run)
        if before <= registers - _SPARE:
            continue
        better = min(_as_loads_come(run), _schedule(run), key=_pressure)
        if _pressure(better) < before:
            actions[start : start + len(run)] = [update.action for update in better]
    return replace(block, actions=tuple(actions))


def _runs(block: Block) -> Iterator[tuple[int, list[_Update]]]:
    """Maximal runs of accumulations, each with the position of its first action."""
    run: list[_Update] = []
    for position, action in enumerate(block.actions):
        update = _as_update(block.nodes, action) if isinstance(action, Assign) else None
        if update is not None:
            run.append(update)
        elif run:
            yield position - len(run), run
            run = []
    if run:
        yield len(block.actions) - len(run), run


def _as_update(nodes: Sequence[Node], action: Assign) -> _Update | None:
    """The action as an accumulation; None if it reads another register than it sets."""
    loads: list[int] = []
    pending = [action.node]
    while pending:
        position = pending.pop()
        node = nodes[position]
        match node:
            case Register(name) if name != action.register:
                return None
            case Load() | Broadcast() | Shuffle():
                loads.append(position)
            case Lane(vector):
                loads.append(vector)
            case _:
                pending.extend(operands(node))
    return _Update(action, tuple(loads))


def _pressure(run: Sequence[_Update]) -> int:
    """Accumulators plus the most loads that are alive at once."""
    last = {load: time for time, update in enumerate(run) for load in update.loads}
    alive: set[int] = set()
    most = 0
    for time, update in enumerate(run):
        alive.update(update.loads)
        most = max(most, len(alive))
        alive.difference_update([load for load in update.loads if last[load] == time])
    return most + len({update.action.register for update in run})


def _as_loads_come(run: Sequence[_Update]) -> list[_Update]:
    """Every update right after the last of its loads; the same order where chains forbid that.

    Rows of a tile that share the vectors of a sliding window then need one of them at a time.
    """
    first: dict[int, int] = {}
    for time, update in enumerate(run):
        for load in update.loads:
            first.setdefault(load, time)
    ready = [max(first[load] for load in update.loads) if update.loads else 0 for update in run]
    latest: dict[str, int] = {}
    for time, update in zip(ready, run, strict=True):
        if time < latest.get(update.action.register, 0):
            return list(run)
        latest[update.action.register] = time
    return [run[number] for number in sorted(range(len(run)), key=ready.__getitem__)]


def _schedule(run: Sequence[_Update]) -> list[_Update]:
    """Greedy order: what needs the fewest new loads, then whose live load is used up soonest."""
    queue = _Queue(run)
    result: list[_Update] = []
    while len(result) < len(run):
        result.append(run[queue.take()])
    return result


class _Queue:
    """Updates that are still to be ordered."""

    def __init__(self, run: Sequence[_Update]) -> None:
        self._run = run
        self._users: dict[int, list[int]] = {}
        self._chains: dict[str, list[int]] = {}
        for number, update in enumerate(run):
            self._chains.setdefault(update.action.register, []).append(number)
            for load in update.loads:
                self._users.setdefault(load, []).append(number)
        for chain in self._chains.values():
            chain.reverse()
        self._waiting = list(range(len(run) - 1, -1, -1))
        self._done: set[int] = set()
        self._alive: dict[int, None] = {}

    def take(self) -> int:
        """The number of the next update, which counts as done from here on."""
        number = self._next()
        self._done.add(number)
        update = self._run[number]
        self._chains[update.action.register].pop()
        for load in update.loads:
            users = self._users[load]
            users.remove(number)
            if users:
                self._alive[load] = None
            else:
                self._alive.pop(load, None)
        return number

    def _next(self) -> int:
        best: tuple[int, int] | None = None
        for load in sorted(self._alive, key=lambda load: len(self._users[load])):
            for number in self._users[load]:
                if not self._is_ready(number):
                    continue
                missing = self._new_loads(number)
                if missing == 0:
                    return number
                if best is None or missing < best[0]:
                    best = missing, number
        if best is not None:
            return best[1]
        while self._waiting[-1] in self._done:
            self._waiting.pop()
        return self._waiting[-1]

    def _is_ready(self, number: int) -> bool:
        return self._chains[self._run[number].action.register][-1] == number

    def _new_loads(self, number: int) -> int:
        return sum(load not in self._alive for load in self._run[number].loads)
