"""How well scores rank: by hand, and by drawing."""

import itertools

import numpy as np
import pytest

from ago.cost_model.quality import Quality, spearman


def test_spearman_of_orders_with_and_without_ties() -> None:
    a = np.array([1.0, 2.0, 3.0, 4.0])
    assert spearman(a, a**3) == pytest.approx(1)
    assert spearman(a, -a) == pytest.approx(-1)
    assert spearman(a, np.ones(4)) == 0
    assert spearman(np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx(
        0.8660254
    )


def test_regret_is_of_the_first_choices() -> None:
    seconds = np.array([4.0, 2.0, 3.0, 1.0, 8.0, 9.0, 5.0])
    assert Quality.of(np.array([1.0, 2, 3, 9, 4, 5, 6]), seconds).top1 == 3
    assert Quality.of(np.array([1.0, 2, 3, 9, 4, 5, 6]), seconds).top5 == 1
    assert Quality.of(seconds, seconds) == Quality(pytest.approx(1), 0, 0)


@pytest.mark.parametrize("count", [4, 6])
def test_chance_is_what_all_orders_give_on_average(count: int) -> None:
    seconds = np.array([1.0, 1.5, 2.5, 3.0, 7.0, 8.0])[:count]
    orders = list(itertools.permutations(range(count)))
    found = Quality.mean([Quality.of(np.array(order, float), seconds) for order in orders])
    chance = Quality.of_chance(seconds)
    assert (chance.top1, chance.top5) == (pytest.approx(found.top1), pytest.approx(found.top5))
    assert found.spearman == pytest.approx(0, abs=1e-9)
