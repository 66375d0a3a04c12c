"""The second output of ONNX's MaxPool: where in the input each maximum stands.

Read `max_pool_with_indices` first. Each window's elements are laid out one after the other, and the
position of the greatest is looked up in a constant table. Invariant: a tap in the padding is
replaced by one of its own window that is not, so that it never changes which index is found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ago.frontend.onnx_ops.base import Expansion
from ago.frontend.raw import AnyArray
from ago.ir.attributes import read_ints


def max_pool_with_indices(
    parts: Expansion, attrs: Mapping[str, object], by_column: bool
) -> Expansion:
    """Return a MaxPool with the indices of its maxima in the flattened input.

    Args:
        parts: Of the node; nothing is in it yet.
        attrs: The attributes of the canonical MaxPool.
        by_column: Whether the last spatial axis is the slowest of an index.
    """
    x = parts.node.input(0)
    batch, channels, *extents = parts.type(x).shape
    greatest = parts.add("greatest", "MaxPool", x, **attrs)
    counts = parts.type(greatest).shape[2:]
    table = _taps(attrs, extents, counts)
    size, windows, taps = math.prod(extents), *table.shape
    flat = parts.add("flat", "Reshape", x, shape=(batch, channels, size))
    indices = tuple(int(place) for place in table.ravel())
    taken = parts.add("taken", "Take", flat, axis=2, indices=indices)
    rows = parts.add("windows", "Reshape", taken, shape=(batch, channels, windows, taps))
    best = parts.add("best", "ArgMax", rows, axis=3, keepdims=0, select_last=0)
    first = parts.constant("first", (np.arange(windows) * taps).astype(np.int64))
    places = _by_column(table, extents) if by_column else table
    numbers = parts.constant("places", places.ravel())
    found = parts.add("found", "Gather", numbers, parts.add("entry", "Add", best, first), axis=0)
    planes = np.arange(batch * channels, dtype=np.int64).reshape(batch, channels, 1) * size
    whole = parts.add("whole", "Add", found, parts.constant("planes", planes))
    shape = (batch, channels, *counts)
    return parts.outputs(greatest, parts.add("indices", "Reshape", whole, shape=shape))


def _taps(attrs: Mapping[str, object], extents: Sequence[int], counts: Sequence[int]) -> AnyArray:
    """Flat places `[windows, taps]` of what each window reads."""
    kernel, strides = read_ints(attrs, "kernel_shape"), read_ints(attrs, "strides")
    dilations, pads = read_ints(attrs, "dilations"), read_ints(attrs, "pads")
    rank = len(kernel)
    place = np.zeros((1, 1), np.int64)
    inside = np.ones((1, 1), bool)
    for k in range(rank):
        starts = np.arange(counts[k]) * strides[k] - pads[k]
        along = starts[:, None] + np.arange(kernel[k]) * dilations[k]
        fits = (along >= 0) & (along < extents[k])
        place = (place[:, None, :, None] * extents[k] + along[None, :, None, :]).reshape(
            len(place) * len(along), -1
        )
        inside = (inside[:, None, :, None] & fits[None, :, None, :]).reshape(place.shape)
    first = np.take_along_axis(place, inside.argmax(1)[:, None], 1)
    return np.where(inside, place, first)


def _by_column(table: AnyArray, extents: Sequence[int]) -> AnyArray:
    """The same places, counted with the first spatial axis as the fastest."""
    along = np.unravel_index(table, tuple(extents))
    return np.asarray(np.ravel_multi_index(along, tuple(extents), order="F")).astype(np.int64)
