"""Where a resized axis samples its input, and how much each element weighs there.

Read `Resampling` and `taps` first. Invariant: coordinates are exact fractions, so that a sample
that lies on an element, or halfway between two, is seen to lie there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ago.errors import ModelError

Weights = Callable[[float, float], npt.NDArray[np.float64]]
"""Weights of the elements around a sample, from its distance in (0, 1] behind the element before it
and the scale; as many in front of the sample as behind."""


_WHOLE = (Fraction(0), Fraction(1))


@dataclass(frozen=True, slots=True)
class Resampling:
    """One axis that is resized.

    Attributes:
        before: Extent of the input.
        after: Extent of the result.
        scale: Elements of the result for one of the input.
        transformation: ONNX's name of the map from places in the result to places in the input.
        region: Part of the input that is sampled, as fractions of its extent; for
            `tf_crop_and_resize` only.
    """

    before: int
    after: int
    scale: Fraction
    transformation: str
    region: tuple[Fraction, Fraction] = _WHOLE

    @property
    def is_identity(self) -> bool:
        """Whether each place samples the element at its own place."""
        return self.scale == 1 and self.before == self.after and self.region == _WHOLE

    def coordinate(self, place: int) -> Fraction:
        """Where in the input a place of the result lies.

        Raises:
            ModelError: If the transformation is unknown.
        """
        if self.transformation not in _TRANSFORMATIONS:
            raise ModelError(f"coordinate_transformation_mode={self.transformation!r} is unknown")
        return _TRANSFORMATIONS[self.transformation](self, place)

    def is_outside(self, place: int) -> bool:
        """Whether a place takes the extrapolation value."""
        cropped = self.transformation == "tf_crop_and_resize"
        return cropped and not 0 <= self.coordinate(place) <= self.before - 1


def _half_pixel(axis: Resampling, place: int) -> Fraction:
    return (place + Fraction(1, 2)) / axis.scale - Fraction(1, 2)


def _pytorch_half_pixel(axis: Resampling, place: int) -> Fraction:
    return _half_pixel(axis, place) if axis.after > 1 else Fraction(0)


def _half_pixel_symmetric(axis: Resampling, place: int) -> Fraction:
    adjustment = axis.after / (axis.scale * axis.before)
    return Fraction(axis.before, 2) * (1 - adjustment) + _half_pixel(axis, place)


def _align_corners(axis: Resampling, place: int) -> Fraction:
    """Like onnx's reference, with an extent of the result that may be a fraction."""
    length = axis.scale * axis.before
    return place * (axis.before - 1) / (length - 1) if length != 1 else Fraction(0)


def _tf_crop_and_resize(axis: Resampling, place: int) -> Fraction:
    (start, end), last = axis.region, axis.before - 1
    if axis.after > 1:
        return start * last + place * (end - start) * last / (axis.after - 1)
    return (start + end) * last / 2


_TRANSFORMATIONS: dict[str, Callable[[Resampling, int], Fraction]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": lambda axis, place: place / axis.scale,
    "tf_crop_and_resize": _tf_crop_and_resize,
}


def nearest(axis: Resampling, rounding: str) -> list[int]:
    """The element nearest to each sample.

    Args:
        axis: The axis.
        rounding: ONNX's `nearest_mode`.

    Raises:
        ModelError: If the mode is unknown.
    """
    if rounding not in _ROUNDINGS:
        raise ModelError(f"nearest_mode={rounding!r} is unknown")
    places = (_ROUNDINGS[rounding](axis.coordinate(place)) for place in range(axis.after))
    return [min(max(place, 0), axis.before - 1) for place in places]


_ROUNDINGS: dict[str, Callable[[Fraction], int]] = {
    "round_prefer_floor": lambda x: math.ceil(x - Fraction(1, 2)),
    "round_prefer_ceil": lambda x: math.floor(x + Fraction(1, 2)),
    "floor": math.floor,
    "ceil": math.ceil,
}


def taps(
    axis: Resampling, weights: Weights, exclude_outside: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The elements that each sample is made of, and their weights.

    Args:
        axis: The axis.
        weights: Of the elements around a sample.
        exclude_outside: Whether elements beyond the ends weigh nothing; otherwise those at the
            ends stand for them.

    Returns:
        Two arrays `[after, taps]`: places in the input, and weights.
    """
    places, shares = [], []
    for place in range(axis.after):
        coordinate = axis.coordinate(place)
        left = math.ceil(coordinate) - 1
        own = weights(float(coordinate - left), float(axis.scale))
        first = left + 1 - len(own) // 2
        around = np.arange(first, first + len(own))
        if exclude_outside:
            own = np.where((around < 0) | (around >= axis.before), 0.0, own)
            own = own / (own.sum() or 1.0)
        places.append(np.clip(around, 0, axis.before - 1))
        shares.append(own)
    return np.array(places, np.int64), np.array(shares)


def linear(distance: float, scale: float) -> npt.NDArray[np.float64]:
    """Weights of the two elements around a sample."""
    return np.array([1.0 - distance, distance])


def linear_antialias(distance: float, scale: float) -> npt.NDArray[np.float64]:
    """Weights of a triangle as wide as an element of the result."""
    return _stretched(distance, scale, 1, lambda x: max(1.0 - x, 0.0))


def cubic(coefficient: float) -> Weights:
    """Weights of Keys's cubic convolution with the given coefficient."""

    def weights(distance: float, scale: float) -> npt.NDArray[np.float64]:
        offsets = (distance + 1.0, distance, 1.0 - distance, 2.0 - distance)
        return np.array([_cubic(coefficient, offset) for offset in offsets])

    return weights


def cubic_antialias(coefficient: float) -> Weights:
    """Weights of a cubic convolution that is stretched to elements of the result."""
    return lambda distance, scale: _stretched(distance, scale, 2, lambda x: _cubic(coefficient, x))


def _stretched(
    distance: float, scale: float, reach: int, kernel: Callable[[float], float]
) -> npt.NDArray[np.float64]:
    scale = min(scale, 1.0)
    first = math.floor(-reach / scale) + 1
    own = np.array([kernel(abs(k - distance) * scale) for k in range(first, 2 - first)])
    return np.asarray(own / own.sum())


def _cubic(a: float, x: float) -> float:
    if x <= 1.0:
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a if x < 2.0 else 0.0
