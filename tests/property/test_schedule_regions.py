"""What `compute_at` computes, against the elements that enumeration finds to be read."""

from collections import defaultdict
from collections.abc import Iterator
from typing import get_args

from hypothesis import assume, given
from hypothesis import strategies as st

from ago.errors import ScheduleError
from ago.ir.examples import matmul
from ago.ir.index import Index, evaluate
from ago.ir.nest import For, If, Leaf, Stmt, leaf_loads, path_to
from ago.ir.program import Program
from ago.ir.value import Condition
from ago.schedule.compute_at import compute_at
from ago.schedule.split import Tail, split
from ago.schedule.tree import loop_names, reads
from tests.support.subgraphs import convolution, pointwise, pool, subgraphs

Values = dict[str, int]
Element = tuple[int, ...]


def instances(body: tuple[Stmt, ...], values: Values) -> Iterator[tuple[Leaf, Values]]:
    """Every execution of every leaf below `body`, with the values of all loops around it."""
    for stmt in body:
        match stmt:
            case For(name, lo, hi, _, inner):
                for value in range(evaluate(lo, values), evaluate(hi, values)):
                    yield from instances(inner, {**values, name: value})
            case If(condition, inner):
                if holds(condition, values):
                    yield from instances(inner, values)
            case _:
                yield stmt, values


def holds(condition: Condition, values: Values) -> bool:
    return all(evaluate(part, values) >= 0 for part in condition)


def element(index: tuple[Index, ...], values: Values) -> Element:
    return tuple(evaluate(i, values) for i in index)


def traffic(program: Program, buffer: str, loop: str) -> list[tuple[set[Element], set[Element]]]:
    """For each iteration of `loop`, the elements of `buffer` that are read, and written."""
    around = [s.name for s in path_to(program.body, loop) or () if isinstance(s, For)]
    read, written = defaultdict(set), defaultdict(set)
    for leaf, values in instances(program.body, {}):
        if loop not in values:
            continue
        iteration = tuple(values[name] for name in around)
        if leaf.buffer == buffer:
            written[iteration].add(element(leaf.index, values))
        read[iteration] |= {
            element(load.index, values)
            for load, guard in leaf_loads(leaf)
            if load.buffer == buffer and holds(guard, values)
        }
    return [(read[iteration], written[iteration]) for iteration in sorted({*read, *written})]


def tiled(
    program: Program, data: st.DataObject, tails: tuple[str, ...] = get_args(Tail)
) -> Program:
    """`program` with some loops of its last stage split, with any of `tails`."""
    consumer = program.stages[-1].name
    for loop in [n for n in loop_names(program) if n.startswith(f"{consumer}.")]:
        tail = data.draw(st.sampled_from([None, *tails]))
        try:
            program = split(program, loop, data.draw(st.integers(1, 4)), tail) if tail else program
        except ScheduleError:
            continue
    return program


def moved(program: Program, data: st.DataObject) -> tuple[Program, str, str]:
    """A program with a producer moved into a loop: it, the producer's buffer and the loop."""
    producer = data.draw(st.sampled_from(program.stages[:-1]))
    loops = [
        n for n in loop_names(program) if reads(path_to(program.body, n)[-1].body, producer.buffer)
    ]
    loop = data.draw(st.sampled_from(loops))
    try:
        return compute_at(program, producer.name, loop), producer.buffer, loop
    except ScheduleError:
        assume(False)
        raise


@given(program=subgraphs.filter(lambda p: len(p.stages) > 1), data=st.data())
def test_region_holds_what_is_read_and_stays_in_the_domain(
    program: Program, data: st.DataObject
) -> None:
    domain = {s.buffer: set() for s in program.stages}
    for leaf, values in instances(program.body, {}):
        domain[leaf.buffer].add(element(leaf.index, values))
    after, buffer, loop = moved(tiled(program, data), data)
    for read, written in traffic(after, buffer, loop):
        assert read <= written <= domain[buffer]


small = st.integers(1, 3)
dense = st.one_of(
    st.builds(matmul, st.integers(1, 5), st.integers(1, 5), small, relu=st.just(True)),
    st.builds(pointwise, small, small, st.integers(1, 5)),
    st.builds(lambda size, window: pool(size, 2, window, window), st.integers(3, 6), small),
    st.builds(lambda size, window: pool(size, 2, window, 1), st.integers(3, 6), small),
    st.builds(
        lambda size, border: convolution(size, 1, 3, 3, 1, 1, border, 1, pad_stage=True),
        st.integers(3, 5),
        st.integers(0, 2),
    ),
)


@given(program=dense, data=st.data())
def test_region_of_a_dense_access_is_what_is_read(program: Program, data: st.DataObject) -> None:
    """But for tail `masked`, and `guard` where channels are regrouped: they do not narrow it."""
    regrouped = any(stage.name == "K" for stage in program.stages)
    tails = ("exact", "shift", "balance") if regrouped else ("exact", "guard", "shift", "balance")
    program = tiled(program, data, tails)
    after, buffer, loop = moved(program, data)
    for read, written in traffic(after, buffer, loop):
        assert read == written
