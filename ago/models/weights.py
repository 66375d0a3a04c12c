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

    def he(self, *shape: int) -> Weight:
        """Return `[outputs, inputs...]` from a normal distribution of variance 2 / inputs."""
        spread = math.sqrt(2.0 / math.prod(shape[1:]))
        return self._rng.normal(0.0, spread, shape).astype(np.float32)

    def near(self, centre: float, count: int, spread: float = 0.1) -> Weight:
        """Return `count` numbers, uniform within `spread` of `centre`."""
        return self._rng.uniform(centre - spread, centre + spread, count).astype(np.float32)
