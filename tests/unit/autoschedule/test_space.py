"""The space of a workload: candidates as data, what they are built to, what models see of them."""

import random
from typing import Any

import numpy as np
import pytest

from ago.autoschedule import sketch
from ago.autoschedule.sketch import schedule_program
from ago.autoschedule.space import Space
from ago.cost_model.features import COLUMN, COLUMNS, analytic_scores
from ago.errors import ScheduleError
from ago.frontend.builder import GraphBuilder
from ago.ir.lowering import lower_nodes
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.pipeline import run_passes
from ago.schedule.decisions import group_of
from ago.target import resolve_target

TARGET = resolve_target("x86-64-v3")


def inverted_residual() -> Program:
    """Expand, depthwise, project, behind a copy that gives them their layout."""
    rng = np.random.default_rng(0)

    def weight(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, np.float32)

    b = GraphBuilder("block")
    inside = b.relu(b.input("x", (1, 16, 14, 14)), name="before")
    wide = b.relu(b.conv(inside, weight(48, 16, 1, 1), weight(48)))
    deep = b.relu(b.conv(wide, weight(48, 1, 3, 3), weight(48), pads=1, group=48))
    out = b.conv(deep, weight(24, 48, 1, 1), weight(24))
    graph = run_passes(b.build(b.relu(out, name="after")), TARGET)
    nodes = [n for n in graph.nodes if n.name != "before"]
    return lower_nodes(graph, nodes, graph.outputs, "block").program


@pytest.fixture(scope="module")
def space() -> Space:
    return Space(inverted_residual(), TARGET)


def some(space: Space, count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Candidates that were drawn, edited and mixed."""
    rng = random.Random(seed)
    found = [space.default(), *(space.random(rng) for _ in range(count))]
    for _ in range(count):
        found.append(space.mutate(rng.choice(found), rng))
        found.append(space.cross(rng.choice(found), rng.choice(found), rng))
    return found


def test_the_default_is_what_is_built_with_zero_trials(space: Space) -> None:
    scheduled = schedule_program(space.program, TARGET)
    assert dict(scheduled.trace.decisions) == space.default()
    assert space.build(space.default()).trace == scheduled.trace
    assert len(space.plans) > 2


def test_a_candidate_is_built_to_just_its_decisions(space: Space) -> None:
    for candidate in some(space, 3):
        built = space.build(candidate)
        verify(built.program)
        assert dict(built.trace.decisions) == candidate


def test_a_mutation_edits_one_decision(space: Space) -> None:
    rng = random.Random(1)
    for candidate in some(space, 10):
        edited = space.mutate(candidate, rng)
        changed = {
            key for key in edited.keys() | candidate if edited.get(key) != candidate.get(key)
        }
        assert "fusion" in changed or len(changed) == 1


def test_a_child_has_each_group_from_one_parent(space: Space) -> None:
    rng = random.Random(2)
    a = space.default()
    b = space.random(rng)
    while b["fusion"] != a["fusion"]:
        b = space.random(rng)
    mixed = 0
    for _ in range(20):
        child = space.cross(a, b, rng)
        for group in {group_of(key) for key in child}:
            mine = {key: value for key, value in child.items() if group_of(key) == group}
            assert any(mine.items() <= parent.items() for parent in (a, b))
        mixed += child not in (a, b)
    assert mixed > 5


def test_features_are_finite_and_tell_candidates_apart(space: Space) -> None:
    candidates = some(space, 40)
    telling = [key for key in space.default() if key.endswith(("fusion", "/tile"))]
    distinct = {tuple(c.get(key) for key in telling) for c in candidates}
    features = space.features(candidates)
    assert features.shape == (len(candidates), len(COLUMNS))
    assert features.dtype == np.float32
    assert np.isfinite(features).all()
    assert len(np.unique(features, axis=0)) >= len(distinct) > 40
    assert analytic_scores(features).min() < np.median(analytic_scores(features))


def test_features_are_those_of_each_candidate_alone(space: Space) -> None:
    candidates = some(space, 5)
    together = space.features(candidates)
    for row, candidate in zip(together, candidates, strict=True):
        np.testing.assert_array_equal(row, space.features([candidate])[0])


def test_the_default_has_the_cheapest_tiles_of_its_plan(space: Space) -> None:
    default, rng = space.default(), random.Random(3)
    others = [{**space.random(rng), "fusion": default["fusion"]} for _ in range(100)]
    cycles = space.features([default, *others])[:, COLUMN["tile_cycles"]]
    assert cycles[0] == cycles.min()
    assert cycles[0] < np.median(cycles)


def test_what_is_not_offered_gives_way_to_the_default(space: Space) -> None:
    strange: dict[str, Any] = {"fusion": "nonsense", "nothing/tile": (9, 9)}
    assert space.cross(strange, strange, random.Random(0)) == space.default()
    assert space.build(strange).trace == space.build({}).trace


def test_the_same_seed_draws_the_same_candidates(space: Space) -> None:
    assert some(space, 10, seed=5) == some(Space(space.program, TARGET), 10, seed=5)


def test_without_intensive_fusion_fewer_plans_are_offered(space: Space) -> None:
    alone = Space(space.program, TARGET, intensive=False)
    assert set(alone.plans) < set(space.plans)


def test_a_workload_with_nothing_to_decide_has_one_schedule() -> None:
    b = GraphBuilder("gather")
    table = np.ones((8, 4), np.float32)
    graph = b.build(b.apply("Gather", table, b.input("i", (3,), "i64"), axis=0))
    graph = run_passes(graph, TARGET)
    space = Space(lower_nodes(graph, graph.nodes, graph.outputs, "gather").program, TARGET)
    rng = random.Random(0)
    assert space.default() == space.random(rng) == space.mutate({}, rng) == {}
    assert np.isfinite(space.features([{}])).all()


def test_where_primitives_refuse_a_plan_the_next_one_is_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = Space(inverted_residual(), TARGET)
    build, refused = sketch.schedule_nest, space.plans[0]
    assert refused != "apart"

    def refuse(schedule: Any, *rest: Any) -> None:
        if schedule.trace.decisions[0][1] == refused:
            raise ScheduleError("not-perfect", "the loops have other statements")
        build(schedule, *rest)

    monkeypatch.setattr(sketch, "schedule_nest", refuse)
    assert space.default()["fusion"] == space.plans[1]
    assert dict(space.build({}).trace.decisions) == space.default()
    assert dict(space.build({"fusion": refused}).trace.decisions) == space.default()
