"""ONNX's transposed convolution, as a convolution whose channels are spread over the map.

Read `conv_transpose` first. With stride `s`, rows `s q + r` of the result read taps `s t + r` of
the kernel at rows `q - t` of the input. So each remainder `r` is a convolution by every `s`-th tap,
all of them share one input, and their results interleave: no multiplication by an inserted zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import (
    Context,
    Expansion,
    RefusalError,
    Translator,
    int_attr,
    ints_attr,
    str_attr,
)
from ago.frontend.raw import RawNode


@dataclass(frozen=True, slots=True)
class _Spread:
    """One spatial axis of a transposed convolution.

    Attributes:
        extent: Rows of the input.
        stride: Rows of the result between those of neighbouring rows of the input.
        kernel: Taps.
        dilation: Rows between taps.
        before: Rows cropped in front of the result.
        rows: Rows of the result.
    """

    extent: int
    stride: int
    kernel: int
    dilation: int
    before: int
    rows: int

    @property
    def taps(self) -> int:
        """Taps of each remainder's kernel."""
        return -(-self.kernel * self.dilation // self.stride)

    @property
    def phases(self) -> int:
        """Rows computed for each remainder."""
        return -(-(self.before % self.stride + self.rows) // self.stride)

    @property
    def pads(self) -> tuple[int, int]:
        """Zeros in front of the input and behind; negative ones crop."""
        front = self.taps - 1 - self.before // self.stride
        return front, self.phases - 1 + self.taps - self.extent - front


def conv_transpose(node: RawNode, context: Context) -> Expansion:
    """`ConvTranspose`, all versions."""
    x, w = context.type(node.input(0)), context.type(node.input(1))
    group = int_attr(node, "group", 1)
    if x.rank < 3 or w.rank != x.rank or w.shape[0] != x.shape[1] or x.shape[1] % max(group, 1):
        raise ModelError(f"weight {w} with group={group} does not fit the input {x}")
    if x.rank > 5:
        raise RefusalError(f"{x.rank - 2} spatial axes; only 1 to 3 are supported")
    axes = _axes(node, x.shape[2:], w.shape[2:])
    parts = Expansion(node, context)
    inputs = [node.input(0), _phased_weight(parts, group, axes)]
    if node.input(2):
        inputs.append(_phased_bias(parts, axes))
    fronts, behinds = zip(*(axis.pads for axis in axes), strict=True)
    phases = parts.add(
        "phases", "Conv", *inputs, group=group, pads=(*fronts, *behinds),
        strides=(1,) * len(axes), dilations=(1,) * len(axes),
    )  # fmt: skip
    return _interleaved(parts, phases, w.shape[1] * group, axes)


def _phased_weight(parts: Expansion, group: int, axes: Sequence[_Spread]) -> str:
    """The weight of all remainders: `[group * O * remainders, C / group, taps...]`."""
    name = parts.node.input(1)
    channels, filters = parts.type(name).shape[:2]
    depth, rank = channels // group, len(axes)
    if any(axis.dilation > 1 for axis in axes):
        name = _dilated(parts, name, axes)
    pads = [axis.taps * axis.stride - axis.kernel * axis.dilation for axis in axes]
    if any(pads):
        amounts = (*[0] * (rank + 4), *pads)
        name = parts.add("whole", "Pad", name, pads=amounts, mode="constant", value=0.0)
    split = [extent for axis in axes for extent in (axis.taps, axis.stride)]
    shape = (group, depth, filters, *split)
    name = parts.add("split", "Reshape", name, shape=shape)
    name = _reversed(parts, name, range(3, 3 + 2 * rank, 2))
    perm = (0, 2, *range(4, 4 + 2 * rank, 2), 1, *range(3, 3 + 2 * rank, 2))
    name = parts.add("ordered", "Transpose", name, perm=perm)
    rows = group * filters * math.prod(axis.stride for axis in axes)
    return parts.add("weight", "Reshape", name, shape=(rows, depth, *(axis.taps for axis in axes)))


def _dilated(parts: Expansion, name: str, axes: Sequence[_Spread]) -> str:
    """The weight with zeros behind each tap."""
    front, rank = parts.type(name).shape[:2], len(axes)
    single = [extent for axis in axes for extent in (axis.kernel, 1)]
    name = parts.add("taps", "Reshape", name, shape=(*front, *single))
    zeros = [extent for axis in axes for extent in (0, axis.dilation - 1)]
    pads = (*[0] * (2 + 2 * rank + 2), *zeros)
    name = parts.add("gaps", "Pad", name, pads=pads, mode="constant", value=0.0)
    full = (*front, *(axis.kernel * axis.dilation for axis in axes))
    return parts.add("dilated", "Reshape", name, shape=full)


def _reversed(parts: Expansion, name: str, axes: Sequence[int]) -> str:
    shape = parts.type(name).shape
    starts = tuple(extent - 1 if axis in axes else 0 for axis, extent in enumerate(shape))
    steps = tuple(-1 if axis in axes else 1 for axis in range(len(shape)))
    return parts.add("mirrored", "Slice", name, starts=starts, steps=steps, shape=shape)


def _phased_bias(parts: Expansion, axes: Sequence[_Spread]) -> str:
    """The bias, once for each remainder."""
    name = parts.node.input(2)
    (filters,) = parts.type(name).shape
    remainders = math.prod(axis.stride for axis in axes)
    name = parts.add("column", "Reshape", name, shape=(filters, 1))
    name = parts.add("columns", "Expand", name, shape=(filters, remainders))
    return parts.add("bias", "Reshape", name, shape=(filters * remainders,))


def _interleaved(parts: Expansion, name: str, filters: int, axes: Sequence[_Spread]) -> Expansion:
    """End with the remainders' rows in turn, without those in front and behind."""
    batch, rank = parts.type(name).shape[0], len(axes)
    strides, counts = [axis.stride for axis in axes], [axis.phases for axis in axes]
    if any(stride > 1 for stride in strides):
        name = parts.add("planes", "Reshape", name, shape=(batch, filters, *strides, *counts))
        pairs = [place for k in range(rank) for place in (2 + rank + k, 2 + k)]
        name = parts.add("turns", "Transpose", name, perm=(0, 1, *pairs))
        rows = tuple(s * n for s, n in zip(strides, counts, strict=True))
        name = parts.add("map", "Reshape", name, shape=(batch, filters, *rows))
    starts = (0, 0, *(axis.before % axis.stride for axis in axes))
    shape = (batch, filters, *(axis.rows for axis in axes))
    if parts.type(name).shape == shape:
        return parts.outputs(name)
    return parts.result("Slice", name, starts=starts, steps=(1,) * (rank + 2), shape=shape)


def _axes(node: RawNode, extents: Sequence[int], kernel: Sequence[int]) -> list[_Spread]:
    rank = len(extents)
    stated = ints_attr(node, "kernel_shape")
    if stated not in (None, tuple(kernel)):
        raise ModelError(f"kernel_shape {stated} differs from the weight's {tuple(kernel)}")
    strides = ints_attr(node, "strides") or (1,) * rank
    dilations = ints_attr(node, "dilations") or (1,) * rank
    more = ints_attr(node, "output_padding") or (0,) * rank
    pads = ints_attr(node, "pads") or (0,) * 2 * rank
    lists = (strides, dilations, more)
    if any(len(listed) != rank for listed in lists) or len(pads) != 2 * rank:
        raise ModelError(f"strides, dilations or pads do not fit {rank} spatial axes")
    if min(*strides, *dilations) < 1:
        raise ModelError(f"strides {strides} and dilations {dilations} must be positive")
    automatic = str_attr(node, "auto_pad", "NOTSET")
    if automatic not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", ""):
        raise ModelError(f"auto_pad {automatic!r} is unknown")
    wanted = _wanted_rows(node, automatic, extents, strides)
    axes = []
    for k, extent in enumerate(extents):
        full = strides[k] * (extent - 1) + more[k] + (kernel[k] - 1) * dilations[k] + 1
        if wanted is None:
            crop = (0, 0) if automatic == "VALID" else (pads[k], pads[k + rank])
            before, rows = crop[0], full - sum(crop)
        else:
            rows = wanted[k]
            total = max(full - rows, 0)  # where rows are wanting, they follow behind
            before = total // 2 if automatic == "SAME_UPPER" else total - total // 2
        if rows < 1:
            raise ModelError(f"pads {pads} crop all of the result")
        axes.append(_Spread(extent, strides[k], kernel[k], dilations[k], before, rows))
    return axes


def _wanted_rows(
    node: RawNode, automatic: str, extents: Sequence[int], strides: Sequence[int]
) -> tuple[int, ...] | None:
    """The result's extents where the node states them, or None where they follow from pads."""
    stated = ints_attr(node, "output_shape")
    if stated is not None:
        if len(stated) not in (len(extents), len(extents) + 2):
            raise ModelError(f"output_shape {stated} does not fit {len(extents)} spatial axes")
        return stated[-len(extents) :]
    if automatic.startswith("SAME"):
        return tuple(e * s for e, s in zip(extents, strides, strict=True))
    return None


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "ConvTranspose": ((1, conv_transpose),),
}
