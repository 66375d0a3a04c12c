"""The linear model: how much tuning effort an operator takes, its weight in a partition.

Read `NestFeatures` and `OperatorWeight` first. The coefficients are none of them negative and ship
as JSON beside this file, written by `tools/fit_op_weight.py`; using them imports no scikit-learn.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ago.ir.program import Program

Kind = Literal["complex", "elementwise", "reduction", "movement"]

FEATURES = (
    "is_complex",
    "is_elementwise",
    "is_reduction",
    "log_spatial",
    "log_reduction",
    "log_macs",
    "log_read",
    "log_written",
)
"""Names of the model's features, in the order of `NestFeatures.vector`."""

_SHIPPED = Path(__file__).with_name("operator_weight.json")


@dataclass(frozen=True, slots=True)
class NestFeatures:
    """What the model sees of one operator's naive loop nest.

    Attributes:
        kind: The operator's kind.
        log_spatial: Sum of the natural logarithms of the spatial loops' extents.
        log_reduction: Likewise of the reduction loops.
        log_macs: Logarithm of the multiply-accumulates; 0 for an operator that contracts nothing.
        log_read: Logarithm of the bytes of all operands, each counted once.
        log_written: Logarithm of the bytes of all results.
    """

    kind: Kind
    log_spatial: float
    log_reduction: float
    log_macs: float
    log_read: float
    log_written: float

    @classmethod
    def from_sizes(
        cls, kind: Kind, spatial: int, reduction: int, read: int, written: int
    ) -> NestFeatures:
        """The features of a nest of known size.

        Args:
            kind: The operator's kind.
            spatial: Iterations of the spatial loops; none weigh as much as one.
            reduction: Iterations of the reduction loops for each of them.
            read: Bytes of all operands.
            written: Bytes of all results.
        """
        spatial, reduction = max(spatial, 1), max(reduction, 1)
        macs = math.log(spatial * reduction) if kind == "complex" else 0.0
        traffic = (math.log(max(read, 1)), math.log(max(written, 1)))
        return cls(kind, math.log(spatial), math.log(reduction), macs, *traffic)

    def vector(self) -> tuple[float, ...]:
        """One number for each of `FEATURES`."""
        kinds = [float(self.kind == kind) for kind in ("complex", "elementwise", "reduction")]
        logs = (self.log_spatial, self.log_reduction, self.log_macs, self.log_read)
        return (*kinds, *logs, self.log_written)


def nest_features(program: Program, kind: Kind) -> NestFeatures:
    """The features of an operator that was lowered alone.

    Args:
        program: Its naive program; where it has several stages, the one of most iterations counts.
        kind: The operator's kind.
    """
    sizes = []
    for stage in program.stages:
        extents: dict[str, int] = {"spatial": 1, "reduce": 1}
        for axis in stage.axes:
            extents[axis.kind] *= axis.extent
        sizes.append((extents["spatial"], extents["reduce"]))
    spatial, reduction = max(sizes, key=lambda size: (size[0] * size[1], size))
    read = sum(_nbytes(b.shape) for b in program.buffers if b.scope in ("input", "constant"))
    written = sum(_nbytes(b.shape) for b in program.buffers if b.scope == "output")
    return NestFeatures.from_sizes(kind, spatial, reduction, read, written)


def _nbytes(shape: tuple[int, ...]) -> int:
    return 4 * math.prod(shape)


@dataclass(frozen=True, slots=True)
class OperatorWeight:
    """The fitted model.

    Attributes:
        coefficients: One for each of `FEATURES`, none negative.
        data: What it was fitted on, for people.
    """

    coefficients: tuple[float, ...]
    data: Mapping[str, object]

    def __call__(self, features: NestFeatures) -> float:
        """The weight of an operator: draws of a random schedule until a good one is expected.

        Pure data movement weighs 0; everything else at least as much as the model's smallest
        label, one draw.
        """
        if features.kind == "movement":
            return 0.0
        pairs = zip(self.coefficients, features.vector(), strict=True)
        return max(1.0, sum(coefficient * value for coefficient, value in pairs))

    def to_json(self) -> str:
        """The model as JSON, for `from_json`."""
        named = dict(zip(FEATURES, self.coefficients, strict=True))
        return json.dumps({"coefficients": named, "data": self.data}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> OperatorWeight:
        """The model that `to_json` wrote.

        Raises:
            KeyError: A coefficient is missing.
            ValueError: The text is not JSON, or a coefficient is negative.
        """
        content = json.loads(text)
        coefficients = tuple(float(content["coefficients"][name]) for name in FEATURES)
        if min(coefficients) < 0:
            raise ValueError("a coefficient of the operator-weight model is negative")
        return cls(coefficients, content["data"])


@functools.cache
def shipped_operator_weight() -> OperatorWeight:
    """The model that comes with the package."""
    return OperatorWeight.from_json(_SHIPPED.read_text(encoding="utf-8"))
