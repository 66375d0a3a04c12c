"""The cost model in the loop: fitted to everything a session knows, asked about candidates.

Read `Ranking` first. It is fitted again whenever records were added; for the same records it says
the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ago.cost_model.model import CostModel
from ago.tune.search import Decisions, Score
from ago.tune.track import Track


class Ranking:
    """A model of all tasks of a session.

    Args:
        model: Learns, and predicts.
    """

    def __init__(self, model: CostModel) -> None:
        self._model = model
        self._learnt = 0

    def score(self, track: Track, tracks: Sequence[Track]) -> Score:
        """The model's opinion of a task's candidates.

        Args:
            track: The task.
            tracks: All tasks, whose records the model learns from.
        """
        known = sum(len(other.records) for other in tracks)
        if known != self._learnt:
            self._learn([other for other in tracks if other.records])
            self._learnt = known

        def opinion(candidates: Sequence[Decisions]) -> list[float]:
            return [float(s) for s in self._model.predict(track.space.features(candidates))]

        return opinion

    def _learn(self, tracks: Sequence[Track]) -> None:
        seconds = [np.inf if r.seconds is None else r.seconds for t in tracks for r in t.records]
        groups = [number for number, t in enumerate(tracks) for _ in t.records]
        features = np.concatenate([t.features for t in tracks])
        self._model.fit(features, np.array(seconds), np.array(groups))
