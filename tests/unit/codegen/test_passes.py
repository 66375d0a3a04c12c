"""The small passes between resolving and printing: lane form, order, breakpoints, interleaving."""

import itertools
import re
from dataclasses import replace

import pytest

from ago.codegen.barriers import settled, window_turns
from ago.codegen.breakpoints import Scope, crossings, kinks, steps
from ago.codegen.interleave import interleave
from ago.codegen.invariants import keep_loads
from ago.codegen.lane_form import use_lanes
from ago.codegen.order import reorder
from ago.codegen.tree import (
    Apply,
    Assign,
    Block,
    Broadcast,
    Element,
    Lane,
    Load,
    Loop,
    Node,
    Pointer,
    Register,
    Shuffle,
    Write,
)
from ago.ir.index import as_index, evaluate, maximum, minimum, var
from tests.support.compiled import emit
from tests.support.kernels import pointwise

TILE, LANE, OUTER = var("o"), var("i"), var("u")


def scope(**changes) -> Scope:
    values = {"loop": "o", "ranges": {"o": (0, 9), "i": (0, 3), "u": (0, 5)}}
    values |= {"expanded": {"i"}, "outer": {"u"}}
    return Scope(**(values | changes))


@pytest.mark.parametrize(
    ("index", "points"),
    [
        (minimum(4, 17 - TILE * 4), {4}),  # 4, 4, 4, 4, 1
        (minimum(1, maximum(3 - TILE, 0)), {3}),
        (maximum(TILE - 2, 0), {3}),  # 0, 0, 0, 1: the tie stays with the constant
        (minimum(TILE * 2, 7), {4}),
        ((TILE + 1) // 4, {3, 7}),
        (minimum(TILE, OUTER), set()),  # u is an outer loop: no constant answers that
        (TILE * 3 + 1, set()),
    ],
    ids=str,
)
def test_kinks(index, points):
    assert kinks(index, scope()) == points


@pytest.mark.parametrize(
    "index", [minimum(4, 17 - TILE * 4), minimum(1, maximum(3 - TILE, 0)), TILE // 3]
)
def test_between_kinks_an_index_is_affine(index):
    points = sorted({0, 10} | kinks(index, scope()))
    for first, last in itertools.pairwise(points):
        values = [evaluate(index, {"o": o}) for o in range(first, last)]
        assert len({b - a for a, b in itertools.pairwise(values)}) <= 1


def test_crossings_decide_each_iteration_of_expanded_loops():
    assert crossings(TILE * 4 + LANE - 6, scope()) == {1, 2}
    assert crossings(TILE - 1, scope()) == {1}
    assert crossings(8 - TILE, scope()) == {9}
    assert crossings(TILE + OUTER - 1, scope()) == set()


def test_steps_cut_every_iteration():
    assert steps(TILE * 2 + 1, scope()) == set(range(1, 10))
    assert steps(LANE + 1, scope()) == set()


def test_four_consecutive_broadcasts_become_one_load():
    nodes = tuple(Broadcast(0, offset) for offset in (9, 4, 5, 6, 7, 12))
    (block,) = use_lanes((Block(nodes, ()),), 4)
    assert block.nodes[0] == Broadcast(0, 9)
    assert block.nodes[5] == Broadcast(0, 12)
    assert block.nodes[1:5] == tuple(Lane(6, lane) for lane in range(4))
    assert block.nodes[6] == Load(0, 4, 4)


def test_broadcasts_around_a_store_are_not_joined():
    nodes = tuple(Broadcast(0, offset, version=offset // 2) for offset in range(4))
    assert use_lanes((Block(nodes, ()),), 4) == (Block(nodes, ()),)


def outer_product(rows: int, columns: int) -> Block:
    """`acc[r][c] += x[r] * w[c]`, columns inside."""
    nodes = [Broadcast(0, r) for r in range(rows)] + [Load(1, 8 * c, 8) for c in range(columns)]
    actions = []
    for r in range(rows):
        for c in range(columns):
            name = f"acc_{r}_{c}"
            nodes.append(Register(name, vector=True))
            nodes.append(Apply("fma", (r, rows + c, len(nodes) - 1), vector=True))
            actions.append(Assign(name, len(nodes) - 1, "s"))
    return Block(tuple(nodes), tuple(actions))


def test_order_stays_where_registers_suffice():
    block = outer_product(6, 2)
    assert reorder((block,), 18) == (block,)


def test_order_changes_where_it_lowers_the_pressure():
    block = outer_product(2, 6)
    (better,) = reorder((block,), 16)
    assert sorted(a.register for a in better.actions) == sorted(a.register for a in block.actions)
    firsts = [action.register for action in better.actions[:4]]
    assert firsts == ["acc_0_0", "acc_1_0", "acc_0_1", "acc_1_1"]


def test_rows_that_share_a_window_take_each_vector_as_it_comes():
    nodes: list[Node] = [Load(0, 8 * tap, 8) for tap in range(5)]
    nodes += [Load(1, 8 * x, 8) for x in range(11)]
    actions = []
    for x, tap in itertools.product(range(7), range(5)):
        nodes.append(Register(f"a{x}", vector=True, version=tap))
        nodes.append(Apply("fma", (tap, 5 + x + tap, len(nodes) - 1), vector=True))
        actions.append(Assign(f"a{x}", len(nodes) - 1, str(x + tap)))
    (better,) = reorder((Block(tuple(nodes), tuple(actions)),), 16)
    assert list(better.actions) == sorted(actions, key=lambda action: int(action.stage))


def test_updates_of_one_accumulator_keep_their_order():
    text = emit(pointwise(1, 7, 8, 12, 7, 3, 4).program, "cortex-a76").text
    updates = re.findall(r"conv_0_0 = vfmaq_laneq_f32\(conv_0_0, \w+, \w+, (\d)\)", text)
    assert updates == ["0", "1", "2", "3"]


def invariant_loop(loads: int) -> Loop:
    """One accumulator; `loads` of its factors do not change in the loop."""
    nodes = [Load(0, 8 * k, 8) for k in range(loads)] + [Load(1, 0, 8), Register("acc", True)]
    actions = []
    for k in range(loads):
        nodes.append(Apply("fma", (k, loads, len(nodes) - 1), vector=True))
        actions.append(Assign("acc", len(nodes) - 1, "s"))
    return Loop("o", as_index(0), as_index(9), (Block(tuple(nodes), tuple(actions)),))


def test_invariant_loads_stay_in_a_loop_that_has_no_registers_for_them():
    pointers = (Pointer("w", OUTER * 8), Pointer("x", TILE * 8))
    (few,) = keep_loads((invariant_loop(9),), pointers, 16)
    (many,) = keep_loads((invariant_loop(14),), pointers, 16)
    assert few.opaque == frozenset()
    assert many.opaque == frozenset({0})


def test_opaque_pointers_keep_the_loads_of_a_small_reduction():
    text = emit(pointwise(2, 8, 16, 48, 4, 3, 8, unroll=16).program, "x86-64-v3").text
    loops = text.split("for (int64_t out_c_0")[1]
    assert re.search(r"const float \*(x_p_\d) = ago_opaque\(x_p_\d\);", loops)
    assert "ago_opaque(w" not in loops


def lane_stores(places: dict[int, tuple[int, int]], read: bool = False) -> Block:
    """Stores of lanes of vectors, `(vector, lane)` by place; the vectors are loaded before.

    With `read` they come from the buffer that is stored to.
    """
    vectors = sorted({vector for vector, _ in places.values()})
    nodes: list[Node] = [Load(1 if read else 0, 100 * vector, 4) for vector in vectors]
    writes = []
    for place, (vector, lane) in places.items():
        nodes.append(Element(vectors.index(vector), lane))
        writes.append(Write(1, place, 0, len(nodes) - 1, "s"))
    return Block(tuple(nodes), tuple(writes))


POINTERS = (Pointer("x", as_index(0)), Pointer("y", as_index(0)))


def stored(block: Block) -> dict[int, tuple[int, int]]:
    """What a block of shuffles and stores puts where: `(load's offset, lane)` by place."""

    def lane_of(position: int, lane: int) -> tuple[int, int]:
        match block.nodes[position]:
            case Load(_, offset):
                return offset, lane
            case Element(vector, number):
                return lane_of(vector, number)
            case Shuffle(first, second, lanes):
                number = lanes[lane]
                assert number >= 0
                return lane_of(first, number) if number < 4 else lane_of(second, number - 4)
        raise AssertionError(block.nodes[position])

    return {
        write.offset + lane: lane_of(write.node, lane)
        for write in block.actions
        for lane in range(max(write.lanes, 1))
    }


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7])
def test_interleaved_vectors_are_stored_whole(count):
    places = {count * lane + v: (v, lane) for v in range(count) for lane in range(4)}
    (block,) = interleave((lane_stores(places),), POINTERS, 4)
    assert [write.lanes for write in block.actions] == [4] * count
    assert stored(block) == {place: (100 * v, lane) for place, (v, lane) in places.items()}


def test_a_rest_is_stored_as_a_part_of_a_vector():
    places = {2 * lane + v: (v, lane) for v in range(2) for lane in range(3)}
    (block,) = interleave((lane_stores(places),), POINTERS, 4)
    assert [write.lanes for write in block.actions] == [4, 2]
    assert stored(block) == {place: (100 * v, lane) for place, (v, lane) in places.items()}


@pytest.mark.parametrize(
    "block",
    [
        lane_stores({4 * lane: (0, lane) for lane in range(4)}),
        lane_stores({2 * lane + v: (v, lane) for v in range(2) for lane in range(4)}, read=True),
    ],
    ids=["places apart", "read in between"],
)
def test_what_cannot_be_interleaved_stays(block):
    assert interleave((block,), POINTERS, 4) == (block,)


def test_a_window_turns_where_its_weights_are_done_with():
    """Two rows of a window, each with two weights that six accumulators share."""
    nodes: list[Node] = []
    actions: list[Assign] = []
    for row in range(2):
        weights = []
        for tap in range(2):
            weights.append(len(nodes))
            nodes.append(Load(0, 8 * (2 * row + tap), 8))
        for x in range(6):
            for tap in range(2):
                nodes.append(Load(1 + row, 8 * (x + tap), 8))
                nodes.append(Register(f"a{x}", vector=True, version=2 * row + tap))
                load = len(nodes) - 2
                nodes.append(Apply("fma", (load, weights[tap], load + 1), vector=True))
                actions.append(Assign(f"a{x}", len(nodes) - 1, "conv"))
    block = Block(tuple(nodes), tuple(actions))
    uses = [6 if isinstance(n, Load) and n.pointer == 0 else 1 for n in nodes]
    second_row = [k for k, n in enumerate(nodes) if n == Load(0, 16, 8)]
    assert window_turns(block, uses) == frozenset(second_row)
    few = [1] * len(nodes)
    assert window_turns(block, few) == frozenset()
    shared = replace(block, nodes=(*nodes, Broadcast(0, 0)))
    assert window_turns(shared, [*uses, 1]) == frozenset()


def tile(count: int, function: str, *, in_block: bool = True) -> Block:
    """`count` accumulators, each summed up and stored through a function."""
    nodes: list[Node] = []
    actions: list[Assign | Write] = []
    for k in range(count * in_block):
        nodes += [Load(0, 8 * k, 8), Register(f"a{k}", vector=True)]
        nodes.append(Apply("add", (len(nodes) - 2, len(nodes) - 1), vector=True))
        actions.append(Assign(f"a{k}", len(nodes) - 1, "sum"))
    for k in range(count):
        nodes.append(Register(f"a{k}", vector=True, version=1))
        nodes.append(Apply(function, (len(nodes) - 1,), vector=True))
        actions.append(Write(1, 8 * k, 8, len(nodes) - 1, "out"))
    return Block(tuple(nodes), tuple(actions))


def test_what_is_stored_waits_for_the_tile_and_long_functions_for_those_before():
    names = tuple(f"a{k}" for k in range(6))
    library = frozenset({"silu"})
    found = settled(tile(6, "silu"), library, 32)
    assert found == {6: names + names[:4], 10: names[4:]}
    assert settled(tile(6, "neg"), library, 14) == {6: names}
    assert settled(tile(6, "neg"), library, 15) == {}
    assert settled(tile(4, "silu"), library, 8) == {}
    assert settled(tile(6, "silu", in_block=False), library, 8) == {}
