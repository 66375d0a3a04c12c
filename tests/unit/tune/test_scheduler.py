"""The scheduler: trials go where the network gains."""

from ago.tune.scheduler import Standing, next_task


def test_the_heaviest_task_is_first() -> None:
    assert next_task([Standing(1, (1.0,)), Standing(3, (0.5,)), Standing(1, (1.2,))]) == 1


def test_trials_spread_as_nothing_is_gained() -> None:
    best = [[1.0], [0.5], [0.1]]
    for _ in range(160):
        chosen = next_task([Standing(1, tuple(b)) for b in best])
        assert chosen is not None
        best[chosen].append(best[chosen][-1])
    counts = [len(b) for b in best]
    assert counts[0] > counts[1] > counts[2] > 1


def test_a_task_that_gains_goes_on() -> None:
    falling = tuple(1.0 - 0.02 * n for n in range(20))
    assert next_task([Standing(1, (1.0,) * 20), Standing(1, falling)]) == 1


def test_closed_tasks_are_passed_over() -> None:
    assert next_task([Standing(9, (1.0,), open=False), Standing(1, (0.1,))]) == 1
    assert next_task([Standing(9, (1.0,), open=False)]) is None
