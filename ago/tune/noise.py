"""What repeated times say: the time, how sure it is, and which of two is the faster.

Read `Timing` first. The fastest of several calls is the time, since whatever else runs on a machine
only adds to it; how often nearly that time was seen says how well it is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_SEEN = 4  # times that bracket the fastest, as in the trial program
_LEAST_GAP = 0.005


@dataclass(frozen=True, slots=True)
class Timing:
    """The time of one candidate.

    Attributes:
        seconds: The fastest time.
        spread: Half the distance between the quartiles over the median.
        gap: How far above the fastest time its nearest neighbours are, relative: what may be owed
            to chance.
    """

    seconds: float
    spread: float
    gap: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Timing:
        """Summarise repeated times, at least one."""
        ordered = np.sort(np.asarray(seconds, np.float64))
        lower, median, upper = np.quantile(ordered, (0.25, 0.5, 0.75))
        near = ordered[min(_SEEN, len(ordered)) - 1]
        return cls(
            float(ordered[0]),
            float((upper - lower) / (2 * median)),
            max(_LEAST_GAP, float(near / ordered[0]) - 1),
        )

    def scaled(self, factor: float) -> Timing:
        """The timing on a clock that runs by a factor slower."""
        return Timing(self.seconds * factor, self.spread, self.gap)

    def ties_with(self, other: Timing) -> bool:
        """Whether the difference of two times may be owed to chance."""
        margin = min(self.gap, other.gap)
        return abs(self.seconds - other.seconds) <= margin * min(self.seconds, other.seconds)
