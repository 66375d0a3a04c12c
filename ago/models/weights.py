"""Random weights that keep activations in range.

Read `Weights` first. Invariant: one seed decides every array, in the order of the calls.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Weight = npt.NDArray[np.float32]


class Weights:
    """A seeded source of parameters.

    Args:
        seed: Seed of the generator.
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def scaled(self, *shape: int, gain: float = 1.0) -> Weight:
        """Return `[outputs, inputs...]` from a normal distribution of variance gain / inputs."""
        spread = math.sqrt(gain / math.prod(shape[1:]))
        return self.normal(*shape, spread=spread)

    def normal(self, *shape: int, spread: float) -> Weight:
        """Return numbers from a normal distribution around 0 with that standard deviation."""
        return self._rng.normal(0.0, spread, shape).astype(np.float32)

    def near(self, centre: float, count: int, spread: float = 0.1) -> Weight:
        """Return `count` numbers, uniform within `spread` of `centre`."""
        return self._rng.uniform(centre - spread, centre + spread, count).astype(np.float32)
