"""Proposals: a function of seed and records, distinct, and near to what was fast."""

from collections.abc import Mapping
from random import Random

from ago.schedule.chooser import Decision
from ago.tune.record import Record, TaskKey, decisions_text
from ago.tune.search import RANDOM_SEARCH, propose

KEY = TaskKey("0123456789abcdef", "avx2x8")


class Grid:
    """A space of two numbers each decision, from 0 to `size` - 1."""

    def __init__(self, size: int, keys: int = 3) -> None:
        self.size, self.keys = size, [f"s{n}/tile" for n in range(keys)]

    def default(self) -> dict[str, Decision]:
        return dict.fromkeys(self.keys, 0)

    def random(self, rng: Random) -> dict[str, Decision]:
        return {key: rng.randrange(self.size) for key in self.keys}

    def mutate(self, decisions: Mapping[str, Decision], rng: Random) -> dict[str, Decision]:
        return {**decisions, rng.choice(self.keys): rng.randrange(self.size)}

    def cross(
        self, a: Mapping[str, Decision], b: Mapping[str, Decision], rng: Random
    ) -> dict[str, Decision]:
        return {key: rng.choice((a, b))[key] for key in self.keys}


def measured(*candidates: Mapping[str, Decision]) -> list[Record]:
    """Records in which small numbers are fast."""
    return [Record(KEY, c, "[]", "ok", 1.0 + sum(v for v in c.values())) for c in candidates]


def test_the_default_comes_first_then_the_seeds() -> None:
    grid = Grid(9)
    seed = dict.fromkeys(grid.keys, 5)
    assert propose(grid, [], 3, Random(0), seeds=[seed])[:2] == [grid.default(), seed]


def test_nothing_is_proposed_twice() -> None:
    grid, known = Grid(4), measured(Grid(4).default())
    for turn in range(8):
        proposals = propose(grid, known, 6, Random(turn))
        known += measured(*proposals)
    texts = [decisions_text(record.decisions) for record in known]
    assert len(texts) == len(set(texts)) == 49


def test_a_small_space_is_exhausted_and_nothing_more_proposed() -> None:
    grid, known = Grid(3, keys=2), measured()
    for turn in range(20):
        known += measured(*propose(grid, known, 4, Random(turn)))
    assert len(known) == 9
    assert propose(grid, known, 4, Random(99)) == []


def test_the_same_records_and_seed_give_the_same_proposals() -> None:
    grid = Grid(9)
    known = measured(grid.default(), grid.random(Random(1)), grid.random(Random(2)))
    proposals = [propose(grid, known, 6, Random("seed")) for _ in range(2)]
    assert proposals[0] == proposals[1]
    assert propose(grid, known, 6, Random("other")) != proposals[0]


def test_a_model_steers_what_is_bred() -> None:
    grid = Grid(30)
    known = measured({key: 20 for key in grid.keys}, grid.default())

    def likes_nines(candidates: list[Mapping[str, Decision]]) -> list[float]:
        return [sum(abs(int(str(v)) - 9) for v in c.values()) for c in candidates]

    steered = propose(grid, known, 8, Random(0), score=likes_nines)
    blind = propose(grid, known, 8, Random(0))
    assert min(likes_nines(steered)) < min(likes_nines(blind))


def test_random_search_does_not_look_at_the_records() -> None:
    grid = Grid(30)
    first, second = measured(grid.default()), measured({key: 7 for key in grid.keys})
    proposals = [
        propose(grid, known, 5, Random(3), evolution=RANDOM_SEARCH)[1:]
        for known in ([], first, first + second)
    ]
    assert proposals[1][:3] == proposals[2][:3]


def test_a_failed_candidate_has_no_children_but_is_not_tried_again() -> None:
    grid = Grid(2, keys=2)
    known = [*measured(grid.default()), Record(KEY, {k: 1 for k in grid.keys}, "[]", "crash")]
    found = propose(grid, known, 4, Random(0))
    assert sorted(map(decisions_text, found)) == [
        '{"s0/tile": 0, "s1/tile": 1}',
        '{"s0/tile": 1, "s1/tile": 0}',
    ]
