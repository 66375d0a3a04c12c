"""The analytic model: what it says of loads that cost nothing."""

import pytest

from ago.cost_model.analytic import Operand, Tile, TileProblem, candidate_tiles, folds_loads
from ago.target import TARGETS

PIXEL = Operand(along_rows=True, along_lanes=True, row_step=2)
FACTOR = Operand(along_rows=False, along_lanes=True)


def window(*operands: Operand) -> TileProblem:
    """A 3x3 window over a row of 27 outputs of 16 vectors."""
    return TileProblem(27, 16, 9, 27, operands, window=3, window_axis="kx")


@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v4"])
def test_rows_of_a_window_that_is_reduced_alone_share_nothing(cpu: str) -> None:
    target = TARGETS[cpu]
    assert folds_loads(window(PIXEL), target)
    assert candidate_tiles(window(PIXEL), target, (1, 2))[0] == Tile(1, 2)


def test_rows_of_a_window_with_factors_share_their_loads() -> None:
    target = TARGETS["x86-64-v3"]
    assert not folds_loads(window(PIXEL, FACTOR), target)
    assert candidate_tiles(window(PIXEL, FACTOR), target, (1, 2))[0].rows > 4


def test_instructions_without_operands_in_memory_share_loads() -> None:
    target = TARGETS["cortex-a76"]
    assert not folds_loads(window(PIXEL), target)
    assert candidate_tiles(window(PIXEL), target, (1, 2))[0].rows > 4
