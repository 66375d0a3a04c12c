"""What a cost model is: it learns from times, and ranks candidates by their features.

Read `CostModel` first. Scores are comparable among the candidates of one workload only.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ago.cost_model.features import Features, analytic_scores

Numbers = npt.NDArray[np.floating]
Groups = npt.NDArray[np.integer]


class CostModel(Protocol):
    """Anything that ranks candidates."""

    def fit(self, features: Features, seconds: Numbers, groups: Groups) -> None:
        """Learn from all that was measured so far, forgetting what an earlier call was given.

        Args:
            features: (n, len(COLUMNS)).
            seconds: (n,) times; infinite for a candidate that failed.
            groups: (n,) the workload of each row, as any numbers.
        """

    def predict(self, features: Features) -> Numbers:
        """Score candidates.

        Args:
            features: (n, len(COLUMNS)).

        Returns:
            (n,), finite; the lower, the faster among candidates of one workload.
        """


class AnalyticModel:
    """Ranks by the analytic model, and learns nothing."""

    def fit(self, features: Features, seconds: Numbers, groups: Groups) -> None:
        """Does nothing."""

    def predict(self, features: Features) -> Numbers:
        """Binary logarithm of the estimated cycles."""
        return analytic_scores(features)
