"""Choosers answer from the candidates."""

from ago.schedule.chooser import DefaultChooser, RandomChooser, ReplayChooser

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
