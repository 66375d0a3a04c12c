"""ONNX's operators that choose, repeat and reorder elements.

Read `TRANSLATORS` first. Invariant: starts, repeats and indices are constant, and become plain
non-negative numbers here. `indexing` calls the functions for constant indices, and reads others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import (
    ELEMENT_TYPES,
    Canonical,
    Context,
    Expansion,
    RefusalError,
    Translator,
    axis_in_range,
    int_attr,
    ints_attr,
    str_attr,
)
from ago.frontend.onnx_ops.shapes import reshape_to
from ago.frontend.raw import RawNode
from ago.ir.tensor import numpy_dtype

Places: TypeAlias = npt.NDArray[np.int64]


def transpose(node: RawNode, context: Context) -> Canonical:
    """`Transpose`, all versions; without `perm` the axes are reversed."""
    rank = context.type(node.input(0)).rank
    perm = ints_attr(node, "perm")
    if perm is None:
        perm = tuple(reversed(range(rank)))
    return Canonical(
        "Transpose", node.inputs, {"perm": tuple(axis_in_range(p, rank) for p in perm)}
    )


def slice_1(node: RawNode, context: Context) -> Canonical:
    """`Slice` 1: everything is an attribute, and steps are 1."""
    starts, ends = ints_attr(node, "starts"), ints_attr(node, "ends")
    return _slice(node, context, starts, ends, ints_attr(node, "axes"), None)


def slice_10(node: RawNode, context: Context) -> Canonical:
    """`Slice` since 10: everything is an input."""
    names = ("starts", "ends", "axes", "steps")
    bounds = (context.constant_ints(node.input(k), n) for k, n in enumerate(names, start=1))
    return _slice(node, context, *bounds)


def _slice(
    node: RawNode,
    context: Context,
    starts: Sequence[int] | None,
    ends: Sequence[int] | None,
    axes: Sequence[int] | None,
    steps: Sequence[int] | None,
) -> Canonical:
    if starts is None or ends is None:
        raise ModelError("starts or ends are missing")
    shape = context.type(node.input(0)).shape
    axes = range(len(starts)) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise ModelError(f"starts {starts}, ends {ends}, axes {tuple(axes)}, steps {steps} differ")
    if 0 in steps:
        raise ModelError(f"steps {steps} must not be 0")
    cuts = [range(extent) for extent in shape]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        place = axis_in_range(axis, len(shape))
        cuts[place] = range(shape[place])[start:end:step]
    return Canonical("Slice", node.inputs[:1], slice_attrs(cuts))


def slice_attrs(cuts: Sequence[range]) -> dict[str, object]:
    """Attributes of the canonical Slice that takes these positions of each axis."""
    return {
        "starts": tuple(cut.start if cut else 0 for cut in cuts),
        "steps": tuple(cut.step for cut in cuts),
        "shape": tuple(len(cut) for cut in cuts),
    }


def split_2(node: RawNode, context: Context) -> Expansion:
    """`Split` up to 12: the extents are an attribute."""
    return _split(node, context, ints_attr(node, "split"))


def split_13(node: RawNode, context: Context) -> Expansion:
    """`Split` since 13: the extents are an input; since 18 the last part may be smaller."""
    return _split(node, context, context.constant_ints(node.input(1), "split"))


def _split(node: RawNode, context: Context, extents: Sequence[int] | None) -> Expansion:
    shape = context.type(node.input(0)).shape
    axis = axis_in_range(int_attr(node, "axis", 0), len(shape))
    if extents is None:
        count = int_attr(node, "num_outputs", len(node.outputs))
        each = -(-shape[axis] // max(count, 1))
        extents = [min(each, max(shape[axis] - k * each, 0)) for k in range(count)]
    if sum(extents) != shape[axis] or min(extents, default=0) < 0:
        raise ModelError(f"parts of {list(extents)} do not make axis {axis} of {shape}")
    if len(node.outputs) > len(extents):
        raise ModelError(f"{len(node.outputs)} outputs for {len(extents)} parts")
    parts = Expansion(node, context)
    results = []
    start = 0
    for number, extent in enumerate(extents[: len(node.outputs)]):
        cuts = [range(full) for full in shape]
        cuts[axis] = range(start, start + extent)
        results.append(parts.add(f"part_{number}", "Slice", node.input(0), **slice_attrs(cuts)))
        start += extent
    return parts.outputs(*results)


def expand(node: RawNode, context: Context) -> Canonical:
    """`Expand`, all versions: the shape broadcasts with the input's."""
    target = _required(context.constant_ints(node.input(1), "shape"), "shape")
    shape = context.type(node.input(0)).shape
    try:
        result = np.broadcast_shapes(shape, target)
    except ValueError:
        raise ModelError(f"{shape} does not broadcast to {target}") from None
    return Canonical("Expand", node.inputs[:1], {"shape": tuple(int(extent) for extent in result)})


def tile_1(node: RawNode, context: Context) -> Canonical:
    """`Tile` 1: copies along one axis."""
    rank = context.type(node.input(0)).rank
    (count,) = _required(context.constant_ints(node.input(1), "tiles"), "tiles")
    (axis,) = _required(context.constant_ints(node.input(2), "axis"), "axis")
    place = axis_in_range(axis, rank)
    repeats = tuple(count if d == place else 1 for d in range(rank))
    return Canonical("Tile", node.inputs[:1], {"repeats": repeats})


def tile_6(node: RawNode, context: Context) -> Canonical:
    """`Tile` since 6: copies along every axis."""
    repeats = _required(context.constant_ints(node.input(1), "repeats"), "repeats")
    return Canonical("Tile", node.inputs[:1], {"repeats": repeats})


def depth_to_space(node: RawNode, context: Context) -> Canonical:
    """`DepthToSpace`; before 11 always depth first."""
    return _blocks("DepthToSpace", node)


def space_to_depth(node: RawNode, context: Context) -> Canonical:
    """`SpaceToDepth`; older versions are always depth first."""
    return _blocks("SpaceToDepth", node)


def _blocks(op: str, node: RawNode) -> Canonical:
    mode = str_attr(node, "mode", "DCR")
    if mode not in ("DCR", "CRD"):
        raise ModelError(f"attribute mode={mode!r} is neither 'DCR' nor 'CRD'")
    attrs = {"block": int_attr(node, "blocksize", 0), "depth_first": int(mode == "DCR")}
    return Canonical(op, node.inputs, attrs)


def trilu(node: RawNode, context: Context) -> Canonical:
    """`Trilu`: the diagonal is an optional input."""
    diagonal = context.constant_ints(node.input(1), "k") or (0,)
    attrs = {"k": diagonal[0], "upper": int_attr(node, "upper", 1)}
    return Canonical("Trilu", node.inputs[:1], attrs)


def gather(node: RawNode, context: Context) -> Expansion:
    """`Gather` with constant indices, all versions; negative ones count from the end."""
    x = node.input(0)
    shape = context.type(x).shape
    axis = axis_in_range(int_attr(node, "axis", 0), len(shape))
    indices = _required_array(context, node.input(1))
    places = _wrapped(indices, shape[axis])
    parts = Expansion(node, context)
    chosen = take(parts, "chosen", x, axis, places.ravel())
    return reshape_to(parts, chosen, (*shape[:axis], *places.shape, *shape[axis + 1 :]))


def gather_elements(node: RawNode, context: Context) -> Expansion:
    """`GatherElements` with constant indices: elements of the flattened input."""
    shape = context.type(node.input(0)).shape
    axis = axis_in_range(int_attr(node, "axis", 0), len(shape))
    indices = _required_array(context, node.input(1))
    places: list[Places] = list(np.indices(indices.shape))
    places[axis] = _wrapped(indices, shape[axis])
    numbers = np.asarray(np.ravel_multi_index(tuple(places), shape), np.int64)
    return _take_rows(node, context, len(shape), numbers)


def gather_nd(node: RawNode, context: Context) -> Expansion:
    """`GatherND` with constant indices: rows of the input, whose leading axes are merged."""
    shape = context.type(node.input(0)).shape
    batch = int_attr(node, "batch_dims", 0)
    indices = _required_array(context, node.input(1))
    if indices.ndim < 1 or batch + indices.shape[-1] > len(shape):
        raise ModelError(f"indices of {indices.shape} do not fit {shape} with batch_dims={batch}")
    own = indices.shape[:-1]
    grid = np.indices(own)
    places = [grid[axis] for axis in range(batch)]
    for column in range(indices.shape[-1]):
        places.append(_wrapped(indices[..., column], shape[batch + column]))
    numbers = np.zeros(own, np.int64)
    for place, extent in zip(places, shape, strict=False):
        numbers = numbers * extent + place
    return _take_rows(node, context, len(places), numbers)


def reverse_sequence(node: RawNode, context: Context) -> Expansion:
    """`ReverseSequence` with constant lengths: rows of the input, whose two axes are merged."""
    shape = context.type(node.input(0)).shape
    batch_axis, time_axis = int_attr(node, "batch_axis", 1), int_attr(node, "time_axis", 0)
    if {batch_axis, time_axis} != {0, 1} or len(shape) < 2:
        raise ModelError(f"batch_axis={batch_axis} and time_axis={time_axis} must be 0 and 1")
    lengths = np.array(_required(context.constant_ints(node.input(1), "lengths"), "lengths"))
    if lengths.shape != (shape[batch_axis],):
        raise ModelError(f"{len(lengths)} lengths for a batch of {shape[batch_axis]}")
    grid = np.indices(shape[:2])
    own = lengths[grid[batch_axis]]
    time = grid[time_axis]
    grid[time_axis] = np.where(time < own, own - 1 - time, time)
    return _take_rows(node, context, 2, grid[0] * shape[1] + grid[1])


def compress(node: RawNode, context: Context) -> Expansion:
    """`Compress` with a constant condition."""
    x = node.input(0)
    shape = context.type(x).shape
    keep = np.flatnonzero(_required_array(context, node.input(1)))
    parts = Expansion(node, context)
    if "axis" not in node.attrs:
        flat = parts.add("flat", "Reshape", x, shape=(context.type(x).size,))
        return parts.outputs(take(parts, "kept", flat, 0, keep))
    axis = axis_in_range(int_attr(node, "axis", 0), len(shape))
    return parts.outputs(take(parts, "kept", x, axis, keep))


def _take_rows(node: RawNode, context: Context, merged: int, numbers: Places) -> Expansion:
    """The rows of the given row-major numbers, after the first axes of the input are merged."""
    shape = context.type(node.input(0)).shape
    parts = Expansion(node, context)
    rows = int(np.prod(shape[:merged], dtype=np.int64))
    flat = parts.add("rows", "Reshape", node.input(0), shape=(rows, *shape[merged:]))
    chosen = take(parts, "chosen", flat, 0, numbers.ravel())
    return reshape_to(parts, chosen, (*numbers.shape, *shape[merged:]))


def take(parts: Expansion, name: str, x: str, axis: int, indices: Iterable[int]) -> str:
    """Append what takes the elements at constant places of an axis: a Slice where they are one.

    Args:
        parts: The expansion.
        name: What it makes, a word.
        x: The input.
        axis: Its axis, not negative.
        indices: Non-negative places.

    Returns:
        The name of the result.
    """
    places = tuple(int(place) for place in indices)
    shape = parts.type(x).shape
    start = places[0] if places else 0
    step = places[1] - start if len(places) > 1 else 1
    if step and places == tuple(start + step * k for k in range(len(places))):
        cuts = [range(extent) for extent in shape]
        cuts[axis] = range(start, start + step * len(places), step)
        return parts.add(name, "Slice", x, **slice_attrs(cuts))
    return parts.add(name, "Take", x, axis=axis, indices=places)


def eye_like(node: RawNode, context: Context) -> Expansion:
    """`EyeLike`, a constant: only the shape of the input matters."""
    kind = context.type(node.input(0))
    if kind.rank != 2:
        raise ModelError(f"needs a matrix, not {kind}")
    number = int_attr(node, "dtype", 0)
    dtype = ELEMENT_TYPES.get(number) if number else numpy_dtype(kind.dtype)
    if dtype is None:
        raise RefusalError(f"attribute dtype={number}")
    parts = Expansion(node, context)
    diagonal = np.eye(kind.shape[0], kind.shape[1], int_attr(node, "k", 0), dtype)
    return parts.outputs(parts.constant("diagonal", diagonal))


def _wrapped(indices: Places, extent: int) -> Places:
    """Indices counted from the front."""
    if indices.size and not (-extent <= indices.min() and indices.max() < extent):
        raise ModelError(f"indices reach from {indices.min()} to {indices.max()} of {extent}")
    return np.asarray(np.where(indices < 0, indices + extent, indices), np.int64)


def _required(values: tuple[int, ...] | None, what: str) -> tuple[int, ...]:
    if values is None:
        raise ModelError(f"input {what!r} is missing")
    return values


def _required_array(context: Context, value: str) -> Places:
    indices = context.constant(value, "indices")
    if indices is None:
        raise ModelError("the second input is missing")
    return np.asarray(indices, np.int64)


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "Transpose": ((1, transpose),),
    "Slice": ((1, slice_1), (10, slice_10)),
    "Split": ((2, split_2), (13, split_13)),
    "Expand": ((8, expand),),
    "Tile": ((1, tile_1), (6, tile_6)),
    "DepthToSpace": ((1, depth_to_space),),
    "SpaceToDepth": ((1, space_to_depth),),
    "EyeLike": ((9, eye_like),),
}
