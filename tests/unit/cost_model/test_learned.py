"""The learned model: it ranks what it was shown, is the same each time, and forgets on purpose."""

import sys
from pathlib import Path

import numpy as np
import pytest

from ago.cost_model import learned
from ago.cost_model.features import COLUMN, COLUMNS
from ago.cost_model.learned import GRADES, SHIPPED, LearnedModel, best_model, relevance
from ago.cost_model.model import AnalyticModel


def measured(count: int, groups: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows whose time is told by two columns, at another scale in each group."""
    rng = np.random.default_rng(seed)
    features = rng.random((count, len(COLUMNS)), np.float32)
    features[:, COLUMN["cycles"]] *= 0.1  # the analytic model knows nothing, and is not sure of it
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
    order = np.argsort(AnalyticModel().predict(features))
    np.testing.assert_array_equal(np.argsort(model.predict(features)), order)
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


def test_what_ships_is_of_these_columns_and_small() -> None:
    assert SHIPPED.stat().st_size < 2_000_000
    features, _, _ = measured(20, 1)
    corrected, plain = (LearnedModel(pretrained=p).predict(features) for p in (True, False))
    assert not np.array_equal(corrected, plain)


def test_what_was_learnt_of_other_columns_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    other = tmp_path / "ranker.txt"
    other.write_text(text.replace("feature_names=cycles ", "feature_names=bicycles "), "utf-8")
    features, _, _ = measured(20, 1)
    plain = LearnedModel(pretrained=False).predict(features)
    for path in (other, tmp_path / "missing.txt"):
        monkeypatch.setattr(learned, "SHIPPED", path)
        learned._shipped.cache_clear()
        np.testing.assert_array_equal(LearnedModel().predict(features), plain)
    learned._shipped.cache_clear()
