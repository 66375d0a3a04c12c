"""The learned model: it ranks what it was shown, is the same each time, and forgets on purpose."""

import sys

import numpy as np
import pytest

from ago.cost_model.features import COLUMN, COLUMNS
from ago.cost_model.learned import GRADES, LearnedModel, best_model, relevance
from ago.cost_model.model import AnalyticModel


def measured(count: int, groups: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows whose time is told by two columns, at another scale in each group."""
    rng = np.random.default_rng(seed)
    features = rng.random((count, len(COLUMNS)), np.float32)
    group = np.arange(count) % groups
    slow = 1 + 2 * features[:, COLUMN["0/load"]] + features[:, COLUMN["recompute"]]
    return features, slow * 10.0 ** -group.astype(float), group


def agreement(model: LearnedModel | AnalyticModel, seed: int) -> float:
    """Share of the pairs of new candidates that are ranked right."""
    features, seconds, _ = measured(60, 1, seed)
    first, second = np.triu_indices(60, 1)
    scores = model.predict(features)
    right = (scores[first] < scores[second]) == (seconds[first] < seconds[second])
    return float(right.mean())


def test_it_ranks_new_candidates_from_what_it_was_shown() -> None:
    model = LearnedModel(pretrained=False)
    model.fit(*measured(400, 4))
    assert agreement(model, 1) > 0.8
    assert agreement(AnalyticModel(), 1) < 0.65


def test_the_same_rows_and_seed_give_the_same_scores() -> None:
    features, seconds, groups = measured(100, 3)
    scores = []
    for seed in (7, 7, 8):
        model = LearnedModel(seed, pretrained=False)
        model.fit(features, seconds, groups)
        scores.append(model.predict(features))
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_fitting_again_forgets_what_was_shown_before() -> None:
    features, seconds, groups = measured(100, 2)
    once, twice = LearnedModel(pretrained=False), LearnedModel(pretrained=False)
    twice.fit(features, 1 / seconds, groups)
    for model in (once, twice):
        model.fit(features, seconds, groups)
    np.testing.assert_array_equal(once.predict(features), twice.predict(features))


def test_the_order_of_rows_of_other_groups_does_not_matter() -> None:
    features, seconds, groups = measured(90, 3)
    together = np.argsort(groups, kind="stable")
    a, b = LearnedModel(pretrained=False), LearnedModel(pretrained=False)
    a.fit(features, seconds, groups)
    b.fit(features[together], seconds[together], groups[together])
    np.testing.assert_array_equal(a.predict(features), b.predict(features))


def test_nothing_learnt_ranks_as_the_analytic_model_does() -> None:
    features, seconds, groups = measured(20, 1)
    model = LearnedModel(pretrained=False)
    np.testing.assert_array_equal(model.predict(features), AnalyticModel().predict(features))
    model.fit(features[:0], seconds[:0], groups[:0])
    assert np.isfinite(model.predict(features)).all()


def test_relevance_is_of_the_fastest_of_the_group_and_none_for_a_failure() -> None:
    seconds = np.array([2.0, 4.0, np.inf, 30.0, 60.0, np.inf])
    groups = np.array([0, 0, 0, 1, 1, 2])
    expected = [GRADES, round(GRADES / 2), 0, GRADES, round(GRADES / 2), 0]
    assert relevance(seconds, groups).tolist() == expected


def test_without_lightgbm_the_analytic_model_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    assert isinstance(best_model(), AnalyticModel)
