"""The workspace plan: live tensors apart, dead ones' bytes used again."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ago.codegen.entry import WorkspaceSlot
from ago.memory import ALIGNMENT, Tensor, aligned, plan_workspace
from ago.options import Options
from ago.pipeline import compile_graph
from ago.target import TARGETS
from tests.support.graph_cases import GRAPH_CASES


@st.composite
def tensors(draw: st.DrawFn) -> list[Tensor]:
    def tensor(number: int) -> Tensor:
        first = draw(st.integers(0, 9))
        size = draw(st.one_of(st.integers(1, 300), st.sampled_from([64, 128, 4096])))
        return Tensor(f"t{number}", size, first, first + draw(st.integers(0, 5)))

    return [tensor(number) for number in range(draw(st.integers(0, 14)))]


@given(tensors())
def test_no_two_live_tensors_share_a_byte(found):
    plan = plan_workspace(found)
    assert set(plan.offsets) == {t.name for t in found}
    for tensor in found:
        start = plan.offsets[tensor.name]
        assert start % ALIGNMENT == 0
        assert 0 <= start <= start + tensor.nbytes <= plan.nbytes
    for a, b in itertools.combinations(found, 2):
        apart = (
            plan.offsets[a.name] + a.nbytes <= plan.offsets[b.name]
            or plan.offsets[b.name] + b.nbytes <= plan.offsets[a.name]
        )
        assert apart or a.last < b.first or b.last < a.first


@given(tensors(), st.randoms(use_true_random=False))
def test_the_order_of_the_tensors_plays_no_part(found, random):
    shuffled = list(found)
    random.shuffle(shuffled)
    assert plan_workspace(shuffled) == plan_workspace(found)


@given(tensors())
def test_the_size_is_between_the_bound_and_no_reuse(found):
    plan = plan_workspace(found)
    assert plan.lower_bound <= plan.nbytes <= sum(aligned(t.nbytes) for t in found)


@given(tensors())
def test_the_bound_is_the_most_that_lives_at_once(found):
    live = [
        sum(aligned(t.nbytes) for t in found if t.first <= step <= t.last) for step in range(16)
    ]
    assert plan_workspace(found).lower_bound == max(live)


@given(tensors().filter(lambda found: len(found) <= 6))
def test_small_plans_are_as_small_as_any(found):
    def placed(order: Iterable[Tensor]) -> int:
        spans: list[tuple[int, int, Tensor]] = []
        for tensor in order:
            size, at = aligned(tensor.nbytes), 0
            for start, end, other in sorted(spans, key=lambda span: span[:2]):
                if tensor.overlaps(other):
                    if at + size <= start:
                        break
                    at = max(at, end)
            spans.append((at, at + size, tensor))
        return max((end for _, end, _ in spans), default=0)

    # Placing tensors in the order of a best plan's offsets, each as low as it can be, is a best
    # plan again; so the orders of all permutations hold one.
    best = min(placed(order) for order in itertools.permutations(found))
    assert plan_workspace(found).nbytes == best


def test_a_chain_needs_two_tensors_at_a_time():
    chain = [Tensor(f"t{step}", 1000, step, step + 1) for step in range(10)]
    plan = plan_workspace(chain)
    assert plan.nbytes == plan.lower_bound == 2 * aligned(1000)


def test_nothing_needs_nothing():
    assert plan_workspace([]).nbytes == 0


@pytest.mark.parametrize("case", GRAPH_CASES[::2], ids=lambda case: case.name)
def test_values_of_a_graph_that_are_read_later_keep_their_bytes(case):
    made = compile_graph(case.graph, Options(TARGETS["portable"]))
    parts = [kernel.subgraph for kernel in made.kernels]
    written = {v: step for step, part in enumerate(parts) for v in part.outputs}
    read = {v: step for step, part in enumerate(parts) for v in part.inputs}
    spans = [
        (
            slot.offset,
            slot.offset + made.graph.type_of(v).nbytes,
            written[v],
            read.get(v, written[v]),
        )
        for v, slot in made.places.items()
        if isinstance(slot, WorkspaceSlot) and v in written
    ]
    for a, b in itertools.combinations(spans, 2):
        assert a[1] <= b[0] or b[1] <= a[0] or a[3] < b[2] or b[3] < a[2]
    assert max((end for _, end, _, _ in spans), default=0) <= made.artifact.workspace_bytes
