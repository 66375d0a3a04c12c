"""`mutate` edits one key inside its domain; `crossover` takes whole groups."""

import random

import pytest

from ago.errors import ScheduleError
from ago.schedule.chooser import Domain
from ago.schedule.decisions import Choice, crossover, group_of, mutate

CHOICES = (
    Choice("conv/tile", (4, 2), Domain(((4, 2), (2, 2), (1, 1)))),
    Choice("conv/order", 0, Domain((0, 1))),
    Choice("add/tail", "shift", Domain(("shift",))),
)


def test_mutation_draws_another_value() -> None:
    seen = {mutate(CHOICES, "conv/tile", random.Random(seed))["conv/tile"] for seed in range(20)}
    assert seen == {(2, 2), (1, 1)}


def test_mutation_keeps_a_value_without_alternative() -> None:
    edited = mutate(CHOICES, "add/tail", random.Random(0))
    assert edited == {"conv/tile": (4, 2), "conv/order": 0, "add/tail": "shift"}


def test_mutation_of_an_unknown_key_is_refused() -> None:
    with pytest.raises(ScheduleError, match="there are conv/tile, conv/order") as refusal:
        mutate(CHOICES, "conv/tail", random.Random(0))
    assert refusal.value.code == "missing-decision"


def test_groups_are_stages() -> None:
    assert group_of("block/conv/tile") == "block/conv"
    assert group_of("tile") == ""


def test_crossover_takes_whole_groups() -> None:
    a = {"conv/tile": 1, "conv/order": 1, "add/tail": 1}
    b = {"conv/tile": 2, "pool/tile": 2, "add/tail": 2, "add/order": 2}
    assert crossover(a, b, {"conv"}) == {"add/tail": 1, "conv/tile": 2}
    assert crossover(a, b, {"pool", "add"}) == {
        "conv/tile": 1,
        "conv/order": 1,
        "pool/tile": 2,
        "add/tail": 2,
        "add/order": 2,
    }
    assert crossover(a, b, ()) == a
