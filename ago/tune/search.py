"""Which schedules of a task to measure next: evolution from those that were measured.

Read `propose` first. It is a function of the records so far, the seed and the model: nothing is
remembered between two calls, so that a session which was killed goes on where it stopped.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from ago.schedule.chooser import Decision
from ago.tune.record import Record, decisions_text

Decisions = Mapping[str, Decision]

Score = Callable[[Sequence[Decisions]], Sequence[float]]
"""A model's opinion of candidates: the lower, the faster it takes them to be."""


class Space(Protocol):
    """The schedules of a workload, as far as the search draws from them."""

    def default(self) -> Decisions:
        """The schedule that is taken without any search."""

    def random(self, rng: Random) -> Decisions:
        """Any schedule."""

    def mutate(self, decisions: Decisions, rng: Random) -> Decisions:
        """A neighbour: one decision is another, and what depends on it."""

    def cross(self, a: Decisions, b: Decisions, rng: Random) -> Decisions:
        """A child of two schedules."""


@dataclass(frozen=True, slots=True)
class Evolution:
    """How candidates are bred.

    Attributes:
        parents: The fastest measured candidates that have children.
        children: Candidates of each generation.
        generations: How often the children that the model likes best become parents.
        random_share: Share of the proposals that are drawn from the whole space, whatever is known.
        mutation_share: Share of children with one parent; the others have two.
    """

    parents: int = 16
    children: int = 128
    generations: int = 3
    random_share: float = 0.15
    mutation_share: float = 0.7


EVOLUTION = Evolution()
RANDOM_SEARCH = Evolution(random_share=1.0)
"""Each proposal is drawn from the whole space: what evolution is compared with."""

_PATIENCE = 20
"""Draws for each wanted candidate until a space counts as exhausted."""


def propose(
    space: Space,
    known: Sequence[Record],
    count: int,
    rng: Random,
    *,
    score: Score | None = None,
    seeds: Iterable[Decisions] = (),
    evolution: Evolution = EVOLUTION,
) -> list[Decisions]:
    """Choose what to measure next.

    The default comes first of all, then the seeds. What follows are children of the fastest
    candidates so far, as the model ranks them but kept apart from each other, and a random part.

    Args:
        space: The task's schedules.
        known: Its records, in the order in which they were measured.
        count: How many candidates are wanted.
        rng: Draws everything.
        score: The model; without one children are taken as they are bred.
        seeds: Candidates that another search found: of parts of the task, or on another machine.
        evolution: How candidates are bred.

    Returns:
        Distinct candidates that `known` does not hold; fewer where the space has no more.
    """
    tried = {decisions_text(record.decisions) for record in known}
    first = _take(itertools.chain([space.default()], seeds), count, tried)
    wanted = count - len(first)
    lucky = min(wanted, _rounded(evolution.random_share * wanted, rng))
    bred: list[Decisions] = []
    if lucky < wanted:
        pool = _breed(space, _parents(space, known, seeds, evolution), rng, score, evolution)
        bred = _apart(pool, wanted - lucky, tried)
    missing = wanted - len(bred)
    draws = (space.random(rng) for _ in range(_PATIENCE * missing))
    return [*first, *bred, *_take(draws, missing, tried)]


def _parents(
    space: Space, known: Sequence[Record], seeds: Iterable[Decisions], evolution: Evolution
) -> list[Decisions]:
    """The fastest candidates, with the default and the seeds among them, whatever their times."""
    timed = sorted((r for r in known if r.seconds is not None), key=lambda r: r.seconds or 0.0)
    fastest = [record.decisions for record in timed[: evolution.parents]]
    return _take(itertools.chain(fastest, [space.default()], seeds), 2 * evolution.parents, set())


def _breed(
    space: Space,
    parents: Sequence[Decisions],
    rng: Random,
    score: Score | None,
    evolution: Evolution,
) -> list[Decisions]:
    """All distinct children of some generations, the most promising first."""
    pool = {decisions_text(parent): parent for parent in parents}
    ranked = list(parents)
    for _ in range(evolution.generations if score else 1):
        for _ in range(evolution.children):
            child = _child(space, ranked, rng, evolution)
            pool.setdefault(decisions_text(child), child)
        if score is not None:
            candidates = list(pool.values())
            scores = score(candidates)
            order = sorted(range(len(candidates)), key=lambda k: (scores[k], k))
            pool = {decisions_text(c): c for c in (candidates[k] for k in order)}
            ranked = list(pool.values())[: evolution.parents]
    return list(pool.values())


def _child(
    space: Space, ranked: Sequence[Decisions], rng: Random, evolution: Evolution
) -> Decisions:
    parent = _favoured(ranked, rng)
    if len(ranked) == 1 or rng.random() < evolution.mutation_share:
        return space.mutate(parent, rng)
    return space.cross(parent, _favoured(ranked, rng), rng)


def _favoured(ranked: Sequence[Decisions], rng: Random) -> Decisions:
    """One of a list; those in front more often: the first half three times out of four."""
    return ranked[int(len(ranked) * rng.random() ** 2)]


def _apart(pool: Sequence[Decisions], count: int, tried: set[str]) -> list[Decisions]:
    """The first of a ranked pool that differ in two decisions from each other, then any."""
    picked: list[Decisions] = []
    for least in (2, 1):
        for candidate in pool:
            if len(picked) == count:
                break
            if all(_distance(candidate, other) >= least for other in picked):
                picked += _take([candidate], 1, tried)
    return picked


def _distance(a: Decisions, b: Decisions) -> int:
    """How many decisions differ."""
    return sum(a.get(key) != b.get(key) for key in a.keys() | b.keys())


def _take(candidates: Iterable[Decisions], count: int, tried: set[str]) -> list[Decisions]:
    """The first that were not tried, which then they are."""
    return list(itertools.islice(_fresh(candidates, tried), count))


def _fresh(candidates: Iterable[Decisions], tried: set[str]) -> Iterator[Decisions]:
    for candidate in candidates:
        text = decisions_text(candidate)
        if text not in tried:
            tried.add(text)
            yield candidate


def _rounded(value: float, rng: Random) -> int:
    """One of the two whole numbers around a value, the nearer one more often."""
    return int(value + rng.random())
