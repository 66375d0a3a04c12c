"""In which order the steps of a model run, so that little memory is live at once.

Read `lowest_peak` first. Invariant: an order respects every dependence, and a returned order never
needs more than the order that was given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

BEAM = 64
"""Partial orders kept of each length: the search is exact where there are no more."""

MOST_STEPS = 2048
"""Steps from the partial orders of one length to the next: of many independent branches, those of
the lowest orders."""

MOST_TASKS = 300
"""Longer lists keep the order they have."""


@dataclass(frozen=True, slots=True)
class Task:
    """A step, as far as memory goes.

    Attributes:
        writes: Tensors it makes, or parts of which it makes.
        reads: Tensors it reads.
        scratch: Bytes it needs while it runs.
    """

    writes: tuple[str, ...]
    reads: tuple[str, ...]
    scratch: int = 0


@dataclass(frozen=True, slots=True)
class _Path:
    """An order from its end: the last task, and the path before it."""

    task: int
    before: _Path | None


@dataclass(frozen=True, slots=True)
class _State:
    """A set of tasks that are done, by the best order known.

    Attributes:
        peak: Most bytes live at once so far.
        live: Bytes live now.
        done: Bit `i` is set where task `i` is done.
        path: The order; None if nothing is done.
    """

    peak: int = 0
    live: int = 0
    done: int = 0
    path: _Path | None = None


def lowest_peak(tasks: Sequence[Task], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Order tasks so that the most bytes live at once are few.

    A search over sets of finished tasks, level by level: of two orders that finish the same set,
    the one with the lower peak stands for both (memory-aware scheduling by dynamic programming, as
    in Ahn et al. 2020, arXiv 2003.02369), and of many sets the `BEAM` lowest go on.

    Args:
        tasks: In an order that respects their dependences.
        sizes: Bytes of each tensor that needs memory; one that is not listed needs none. A tensor
            is live from the first task that writes it to the last that touches it.

    Returns:
        Positions in `tasks`, in their new order; the given order where none is better. More than
        `MOST_TASKS` tasks keep their order.
    """
    given = tuple(range(len(tasks)))
    if len(tasks) > MOST_TASKS:
        return given
    best = _search(tasks, sizes)
    return best if peak_of(tasks, sizes, best) < peak_of(tasks, sizes, given) else given


def peak_of(tasks: Sequence[Task], sizes: Mapping[str, int], order: Sequence[int]) -> int:
    """Most bytes live at once when `tasks` run in `order`."""
    memory = _Memory(tasks, sizes)
    state = _State()
    for task in order:
        state = memory.after(state, task)
    return state.peak


def _search(tasks: Sequence[Task], sizes: Mapping[str, int]) -> tuple[int, ...]:
    memory = _Memory(tasks, sizes)
    states = [_State()]
    for _ in tasks:
        reached: dict[int, _State] = {}
        tried = 0
        for state in states:
            if tried >= MOST_STEPS:
                break
            ready = memory.ready(state.done)
            tried += len(ready)
            for task in ready:
                found = memory.after(state, task)
                known = reached.get(found.done)
                if known is None or found.peak < known.peak:
                    reached[found.done] = found
        states = sorted(reached.values(), key=lambda s: (s.peak, s.live, s.done))[:BEAM]
    return _tasks_of(states[0].path)


def _tasks_of(path: _Path | None) -> tuple[int, ...]:
    order: list[int] = []
    while path is not None:
        order.append(path.task)
        path = path.before
    return tuple(reversed(order))


class _Memory:
    """Who waits for whom, and who touches which tensor, as bit sets."""

    def __init__(self, tasks: Sequence[Task], sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._tasks = tasks
        self._waits = [0] * len(tasks)
        self._writers: dict[str, int] = {}
        self._users: dict[str, int] = {}
        for number, task in enumerate(tasks):
            for value in task.reads:
                self._waits[number] |= self._writers.get(value, 0)
            for value in task.writes:
                self._writers[value] = self._writers.get(value, 0) | 1 << number
            for value in {*task.reads, *task.writes}:
                self._users[value] = self._users.get(value, 0) | 1 << number

    def ready(self, done: int) -> list[int]:
        """Tasks that are not done and wait for nothing."""
        return [
            number
            for number, waits in enumerate(self._waits)
            if not done >> number & 1 and waits & ~done == 0
        ]

    def after(self, state: _State, number: int) -> _State:
        """The state after one more task."""
        task = self._tasks[number]
        done = state.done | 1 << number
        made = sum(
            self._sizes.get(value, 0)
            for value in set(task.writes)
            if self._writers[value] & state.done == 0
        )
        freed = sum(
            self._sizes.get(value, 0)
            for value in {*task.reads, *task.writes}
            if value in self._writers and self._users[value] & ~done == 0
        )
        during = state.live + made + task.scratch
        live = state.live + made - freed
        return _State(max(state.peak, during), live, done, _Path(number, state.path))
