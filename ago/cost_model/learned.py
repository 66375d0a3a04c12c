"""The learned model: LightGBM ranks the candidates of a workload, from times measured so far.

Read `LearnedModel` first. It begins with the analytic model's scores; trees that were trained on
earlier tuning ship with the package and correct them, and what is measured now adds more. It is the
same for the same rows and seed: one thread, no sampling that a seed does not fix. LightGBM is
imported when a model is made; where it cannot be, `best_model` gives the analytic one.
"""

from __future__ import annotations

import functools
import importlib
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ago.cost_model.features import COLUMNS, Features, analytic_scores
from ago.cost_model.model import AnalyticModel, CostModel, Groups, Numbers

SHIPPED = Path(__file__).with_name("ranker.txt")
"""The pre-trained model as LightGBM's text, written by `tools/train_cost_model.py`."""

GRADES = 31
"""Relevance of the fastest candidate of a workload; one that takes twice as long has half of it."""

_PARAMETERS: dict[str, Any] = {
    "objective": "lambdarank",
    "label_gain": list(range(GRADES + 1)),
    "lambdarank_truncation_level": 60,
    "lambda_l2": 1.0,
    "feature_fraction": 0.5,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}

_ADDED = {"num_iterations": 60, "learning_rate": 0.1, "num_leaves": 15, "min_data_in_leaf": 4}
"""For the trees that are added for what is measured now."""

_SHIPPED = {
    "num_iterations": 20,
    "learning_rate": 0.05,
    "num_leaves": 6,
    "min_data_in_leaf": 40,
    "lambda_l2": 10.0,
}
"""For the trees that ship: few, since a workload is no other workload."""

_ANALYTIC = 4.0
"""Scores a factor of two in the analytic model's cycles is worth before anything is learnt."""


class Booster(Protocol):
    """What is used of LightGBM's boosters."""

    def predict(self, features: Features, /, *, num_threads: int) -> object:
        """Raw scores, (n,); the higher, the faster."""

    def feature_name(self) -> list[str]:
        """The columns that it was trained on."""

    def model_to_string(self) -> str:
        """The model as text."""


class LearnedModel:
    """Ranks by what was measured, beginning with what was learnt before.

    Args:
        seed: Of the columns that each tree may use.
        pretrained: Whether to begin with the model that ships.
        base: The model to begin with instead.

    Raises:
        ImportError: LightGBM is not installed.
        OSError: A library that it needs is missing.
    """

    def __init__(
        self, seed: int = 0, *, pretrained: bool = True, base: Booster | None = None
    ) -> None:
        importlib.import_module("lightgbm")  # deferred: heavy, and not there on every system

        self._seed = seed
        self._base = base or (_shipped() if pretrained else None)
        self._added: Booster | None = None

    def fit(self, features: Features, seconds: Numbers, groups: Groups) -> None:
        """Learn from all that was measured so far; see `CostModel.fit`."""
        self._added = None
        if len(features):
            base = _start(features) + _raw(self._base, features)
            self._added = _train(features, seconds, groups, _ADDED | {"seed": self._seed}, base)

    def predict(self, features: Features) -> Numbers:
        """Score candidates; see `CostModel.predict`.

        Nothing learnt and nothing shipped, it ranks as the analytic model does.
        """
        corrections = _raw(self._base, features) + _raw(self._added, features)
        return -_start(features) - corrections


def _start(features: Features) -> Numbers:
    """What the analytic model says, in LightGBM's scores: the higher, the faster."""
    return -_ANALYTIC * analytic_scores(features).astype(np.float64)


def _raw(booster: Booster | None, features: Features) -> Numbers:
    """A booster's scores; zeros where there is none."""
    if booster is None or len(features) == 0:
        return np.zeros(len(features))
    return np.asarray(booster.predict(features, num_threads=1), np.float64)


def relevance(seconds: Numbers, groups: Groups) -> Numbers:
    """How good candidates are: `GRADES` for the fastest of its group, 0 for one that failed.

    Args:
        seconds: (n,) times; infinite where a candidate failed.
        groups: (n,) the workload of each row.

    Returns:
        (n,) whole numbers.
    """
    grades = np.zeros(len(seconds))
    ran = np.isfinite(seconds)
    for group in np.unique(groups[ran]):
        inside = ran & (groups == group)
        grades[inside] = np.round(GRADES * seconds[inside].min() / seconds[inside])
    return grades


def train_booster(features: Features, seconds: Numbers, groups: Groups, seed: int = 0) -> Booster:
    """Train a model to ship; see `CostModel.fit` for the arguments."""
    return _train(features, seconds, groups, _SHIPPED | {"seed": seed}, _start(features))


def _train(
    features: Features,
    seconds: Numbers,
    groups: Groups,
    parameters: dict[str, Any],
    base: Numbers,
) -> Booster:
    """Trees that correct the scores `base`."""
    import lightgbm  # deferred: heavy, and not there on every system

    rows, sizes = _by_group(groups)
    data = lightgbm.Dataset(
        features[rows],
        relevance(seconds, groups)[rows],
        group=sizes,
        init_score=base[rows],
        feature_name=list(COLUMNS),
    )
    booster: Booster = lightgbm.train(_PARAMETERS | parameters, data)
    return booster


def best_model(seed: int = 0) -> CostModel:
    """The learned model where LightGBM can be imported, else the analytic one."""
    try:
        return LearnedModel(seed)
    except (ImportError, OSError):
        return AnalyticModel()


def _by_group(groups: Groups) -> tuple[Groups, list[int]]:
    """The rows with those of a group together, and how many each group has."""
    rows = np.argsort(groups, kind="stable")
    _, sizes = np.unique(groups, return_counts=True)
    return rows, [int(size) for size in sizes]


@functools.cache
def _shipped() -> Booster | None:
    """The pre-trained booster; None where it is of other columns, or does not ship."""
    import lightgbm  # deferred: heavy, and not there on every system

    if not SHIPPED.exists():
        return None
    booster: Booster = lightgbm.Booster(model_str=SHIPPED.read_text(encoding="utf-8"))
    return booster if booster.feature_name() == list(COLUMNS) else None
