"""Choosers answer from the candidates."""

import pytest

from ago.errors import ScheduleError
from ago.ir.examples import matmul
from ago.schedule.chooser import (
    DefaultChooser,
    Domain,
    GuidedChooser,
    RandomChooser,
    ReplayChooser,
)
from ago.schedule.interactive import InteractiveChooser, QuitRequest, UndoRequest
from ago.schedule.trace import Schedule

QUESTIONS = [(f"conv/{n}", list(range(n + 1))) for n in range(20)]


def answers(seed: int) -> list[object]:
    chooser = RandomChooser(seed)
    return [chooser.choose(key, candidates) for key, candidates in QUESTIONS]


def test_default_takes_the_favourite() -> None:
    assert DefaultChooser().choose("a", [3, 1, 2]) == 3


def test_random_is_the_same_for_the_same_seed() -> None:
    assert answers(7) == answers(7)
    assert answers(7) != answers(8)


def test_random_stays_in_the_domain() -> None:
    assert all(a in candidates for a, (_, candidates) in zip(answers(1), QUESTIONS, strict=True))


def test_replay_gives_what_is_recorded() -> None:
    chooser = ReplayChooser({"tile": (4, 2), "tail": "shift"})
    assert chooser.choose("tile", [(8, 1), (4, 2)]) == (4, 2)
    assert chooser.choose("tail", ["guard", "shift"]) == "shift"


def test_guided_asks_another_for_what_is_missing_or_not_offered() -> None:
    chooser = GuidedChooser({"tile": 4, "order": 2})
    assert chooser.choose("tile", [8, 4]) == 4
    assert chooser.choose("order", [0, 1]) == 0
    assert chooser.choose("tail", ["guard", "shift"]) == "guard"
    assert GuidedChooser({}, ReplayChooser({"tile": 4})).choose("tile", [8, 4]) == 4
    assert GuidedChooser({"tile": 0}).choose("tile", [8, 0]) == 0


def test_a_schedule_offers_a_domain_with_the_program_and_the_terms() -> None:
    seen: list[Domain] = []

    class Looking(DefaultChooser):
        def choose(self, key, candidates):
            seen.append(candidates)
            return super().choose(key, candidates)

    program = matmul(4, 4, 4)
    schedule = Schedule(program, Looking())
    schedule.decide("C/rows", [4, 2], lambda value: f"{value} cycles")
    (domain,) = seen
    assert str(domain) == "one of 4, 2"
    assert domain.program is program
    (choice,) = schedule.choices
    assert choice.domain is domain
    assert str(choice) == "C/rows = 4, one of 2: 4 cycles"
    assert domain[:1] == (4,)


class Person:
    """Types some lines, and remembers what was shown."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.shown: list[str] = []
        self.answers: dict[str, object] = {}

    def chooser(self) -> InteractiveChooser:
        read = lambda: self.lines.pop(0) if self.lines else None  # noqa: E731
        return InteractiveChooser(self.answers, read, self.shown.append)


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["\n"], "guard"),
        (["1\n"], "shift"),
        (["7\n", "nonsense\n", "1\n"], "shift"),
        (["all\n", "1"], "shift"),
        (["rest\n"], "guard"),
        ([], "guard"),
    ],
)
def test_a_person_answers(lines: list[str], answer: str) -> None:
    person = Person(*lines)
    assert person.chooser().choose("R/tail", ["guard", "shift"]) == answer
    assert person.answers == {"R/tail": answer}
    assert person.shown[0].startswith("R/tail: 2 candidates\n  * 0: guard\n    1: shift\n")


def test_a_wrong_answer_says_what_is_right() -> None:
    person = Person("2", "0")
    person.chooser().choose("R/tail", ["guard", "shift"])
    assert person.shown[1].startswith("'2' is none of 0 to 1. number: choose;")


def test_the_rest_is_not_asked() -> None:
    person = Person("rest", "1")
    chooser = person.chooser()
    assert [chooser.choose(key, [0, 1]) for key in "abc"] == [0, 0, 0]
    assert person.lines == ["1"]


def test_answers_that_are_still_offered_are_kept() -> None:
    person = Person("1")
    person.answers = {"a": 1, "b": 5}
    chooser = person.chooser()
    assert chooser.choose("a", [0, 1]) == 1
    assert not person.shown
    assert chooser.choose("b", [0, 1]) == 1


@pytest.mark.parametrize(("word", "request_"), [("undo", UndoRequest), ("quit", QuitRequest)])
def test_a_person_leaves(word: str, request_: type[Exception]) -> None:
    person = Person(word)
    with pytest.raises(request_):
        person.chooser().choose("a", [0, 1])
    assert not person.answers


def test_long_domains_are_listed_on_demand_and_the_program_too() -> None:
    program = matmul(2, 3, 4)
    person = Person("all", "print", "13")
    domain = Domain(tuple(range(14)), lambda value: f"{value} cycles", program)
    assert person.chooser().choose("a", domain) == 13
    assert "    ... 2 more: all lists them" in person.shown[0]
    assert "13: 13  13 cycles" not in person.shown[0]
    assert "13: 13  13 cycles" in person.shown[1]
    assert person.shown[2] == str(program).rstrip()


def test_replay_refuses_what_is_not_recorded() -> None:
    with pytest.raises(ScheduleError, match="recorded are tile"):
        ReplayChooser({"tile": 1}).choose("tail", ["guard"])
