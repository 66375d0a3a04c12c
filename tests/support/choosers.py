"""A chooser that draws through Hypothesis, so that a failing schedule shrinks to the favourites."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from ago.schedule.chooser import Decision


class HypothesisChooser:
    """Draws each decision; shrinking moves towards the first candidate."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def choose(self, key: str, candidates: Sequence[Decision]) -> Decision:
        place = self._data.draw(st.integers(0, len(candidates) - 1), label=key)
        return candidates[place]
