"""The order of steps: dependences kept, and never more memory than before."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ago.memory import Task, lowest_peak, peak_of
from ago.memory.order import MOST_TASKS


@st.composite
def task_lists(draw: st.DrawFn) -> tuple[list[Task], dict[str, int]]:
    """Random tasks; some write into a tensor together, as the inputs of a Concat do."""
    tasks: list[Task] = []
    for number in range(draw(st.integers(0, 7))):
        earlier = [value for task in tasks for value in task.writes]
        reads = draw(st.lists(st.sampled_from(earlier), max_size=3)) if earlier else []
        shared = [v for v in earlier if not any(v in t.reads for t in tasks) and v not in reads]
        writes = f"t{number}"
        if shared and draw(st.booleans()):
            writes = draw(st.sampled_from(shared))
        tasks.append(Task((writes,), tuple(reads), draw(st.sampled_from([0, 0, 5]))))
    values = sorted({value for task in tasks for value in task.writes})
    return tasks, {value: draw(st.integers(1, 9)) for value in values if draw(st.booleans())}


def is_valid(tasks, order) -> bool:
    place = {number: position for position, number in enumerate(order)}
    return all(
        place[writer] < place[reader]
        for reader, task in enumerate(tasks)
        for writer in range(reader)
        if not set(tasks[writer].writes).isdisjoint(task.reads)
    )


@given(task_lists())
def test_the_order_is_the_best_of_all_that_keep_the_dependences(found):
    tasks, sizes = found
    order = lowest_peak(tasks, sizes)
    assert sorted(order) == list(range(len(tasks)))
    assert is_valid(tasks, order)
    peaks = [
        peak_of(tasks, sizes, candidate)
        for candidate in itertools.permutations(range(len(tasks)))
        if is_valid(tasks, candidate)
    ]
    assert peak_of(tasks, sizes, order) == min(peaks)


def test_a_branch_that_shrinks_goes_first():
    tasks = [
        Task(("x",), ()),
        Task(("big",), ("x",)),
        Task(("other",), ("x",)),
        Task(("small",), ("big",)),
        Task(("sum",), ("small", "other")),
    ]
    sizes = {"x": 1, "big": 100, "other": 50, "small": 1, "sum": 1}
    assert peak_of(tasks, sizes, range(5)) == 151
    assert lowest_peak(tasks, sizes) == (0, 1, 3, 2, 4)
    assert peak_of(tasks, sizes, (0, 1, 3, 2, 4)) == 102


def test_scratch_counts_while_its_task_runs():
    assert peak_of([Task(("a",), (), 7), Task(("b",), ("a",), 1)], {"a": 2, "b": 3}, (0, 1)) == 9


def test_where_no_order_is_better_the_given_one_stays():
    tasks = [Task((f"t{k}",), ()) for k in range(6)]
    assert lowest_peak(tasks, dict.fromkeys(["t0", "t3"], 4)) == tuple(range(6))


@pytest.mark.parametrize("count", [MOST_TASKS, MOST_TASKS + 1])
def test_long_lists(count):
    chain = [Task((f"t{k}",), (f"t{k - 1}",) if k else ()) for k in range(count)]
    assert lowest_peak(chain, {f"t{k}": 8 for k in range(count)}) == tuple(range(count))


def test_many_independent_branches_are_ordered_too():
    """Of more branches than are looked at together, the lowest orders still run one by one."""
    pairs = range(100)
    tasks = [Task((f"wide{k}",), ("x",)) for k in pairs]
    tasks += [Task((f"narrow{k}",), (f"wide{k}",)) for k in pairs]
    sizes = {f"wide{k}": 100 for k in pairs} | {f"narrow{k}": 10 for k in pairs}
    order = lowest_peak(tasks, sizes)
    assert is_valid(tasks, order)
    assert peak_of(tasks, sizes, range(len(tasks))) == 10_010
    assert peak_of(tasks, sizes, order) == 110
