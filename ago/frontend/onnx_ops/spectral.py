"""ONNX's Fourier transforms, as products with constant matrices.

Read `dft` and `stft` first. A transform of length `N` is one matrix product whose operand holds
cosines and sines, computed in float64; one of frames along a signal is a convolution with them.
Both suit the lengths of audio models, a few hundred samples; they are no fast transforms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import (
    Canonical,
    Context,
    Expansion,
    RefusalError,
    Translator,
    axis_in_range,
    int_attr,
)
from ago.frontend.raw import AnyArray, RawNode


@dataclass(frozen=True, slots=True)
class _Transform:
    """A discrete Fourier transform.

    Attributes:
        samples: Values given, along the axis.
        parts: 1 if they are real, 2 if they are complex.
        length: Its length; what is missing is zero, what is more is ignored.
        inverse: Whether it is the inverse, which divides by its length.
        onesided: Whether only the half is made, or given to the inverse, that determines the rest.
    """

    samples: int
    parts: int
    length: int
    inverse: bool
    onesided: bool

    def matrix(self) -> AnyArray:
        """Coefficients `[samples, parts, results, parts of a result]`, in float64."""
        half = self.length // 2 + 1
        frequencies = half if self.onesided and not self.inverse else self.length
        sign = 1 if self.inverse else -1
        place = np.arange(self.samples)[:, None] * np.arange(frequencies)
        turn = np.exp(sign * 2j * np.pi * (place % self.length) / self.length)
        turn[self.length :] = 0
        if self.inverse:
            turn /= self.length
        if self.inverse and self.onesided:
            return self._real(turn)
        pairs = np.stack(
            [np.stack([turn.real, turn.imag], -1), np.stack([-turn.imag, turn.real], -1)]
        )
        return pairs[: self.parts].transpose(1, 0, 2, 3)

    def _real(self, turn: AnyArray) -> AnyArray:
        """The inverse of a half spectrum: all but its ends stand for two conjugate values."""
        twice = np.arange(self.samples)
        inner = (twice > 0) & (2 * twice != self.length)
        turn = turn * np.where(inner, 2.0, 1.0)[:, None]
        turn[self.length // 2 + 1 :] = 0
        parts = np.stack([turn.real, -turn.imag], 1)
        return parts[:, : self.parts, :, None]


def dft_17(node: RawNode, context: Context) -> Canonical | Expansion:
    """`DFT` 17 to 19: the axis is an attribute."""
    return _dft(node, context, int_attr(node, "axis", 1))


def dft_20(node: RawNode, context: Context) -> Canonical | Expansion:
    """`DFT` since 20: the axis is an input."""
    axis = context.constant_ints(node.input(2), "axis")
    return _dft(node, context, -2 if axis is None else axis[0])


def _dft(node: RawNode, context: Context, axis: int) -> Expansion:
    x = context.type(node.input(0))
    if x.rank < 2 or x.shape[-1] not in (1, 2):
        raise ModelError(f"{x} must end in an axis of one or two parts")
    axis = axis_in_range(axis, x.rank)
    if axis == x.rank - 1:
        raise ModelError("the axis of the parts cannot be transformed")
    inverse, onesided = bool(int_attr(node, "inverse", 0)), bool(int_attr(node, "onesided", 0))
    stated = context.constant_ints(node.input(1), "dft_length")
    whole = 2 * (x.shape[axis] - 1) if inverse and onesided else x.shape[axis]
    length = whole if stated is None else stated[0]
    if length < 1:
        raise ModelError(f"a transform of length {length}")
    if onesided and not inverse and x.shape[-1] == 2:
        raise ModelError("half a spectrum of complex values does not determine the rest")
    transform = _Transform(x.shape[axis], x.shape[-1], length, inverse, onesided)
    matrix = transform.matrix()
    parts = Expansion(node, context)
    order = (*(k for k in range(x.rank) if k != axis and k < x.rank - 1), axis, x.rank - 1)
    last = parts.add("last", "Transpose", node.input(0), perm=order)
    front = tuple(x.shape[k] for k in order[:-2])
    rows = parts.add("rows", "Reshape", last, shape=(*front, matrix.shape[0] * matrix.shape[1]))
    flat = matrix.reshape(matrix.shape[0] * matrix.shape[1], -1).astype(np.float32)
    product = parts.add("product", "MatMul", rows, parts.constant("turns", flat))
    values = parts.add("values", "Reshape", product, shape=(*front, *matrix.shape[2:]))
    back = tuple(int(k) for k in np.argsort(order))
    return parts.result("Transpose", values, perm=back)


def stft(node: RawNode, context: Context) -> Expansion:
    """`STFT`: a convolution of the signal with windowed cosines and sines."""
    signal = context.type(node.input(0))
    if signal.rank != 3 or signal.shape[2] not in (1, 2):
        raise ModelError(f"a signal is [batch, samples, parts], not {signal}")
    step = context.constant_ints(node.input(1), "frame_step")
    stated = context.constant_ints(node.input(3), "frame_length")
    window = node.input(2)
    length = signal.shape[1] if stated is None else stated[0]
    if window:
        (length,) = context.type(window).shape
    if step is None or step[0] < 1 or not 1 <= length <= signal.shape[1]:
        raise ModelError(f"frames of {length} every {step} samples do not fit {signal}")
    if stated is not None and stated[0] != length:
        raise ModelError(f"frame_length {stated[0]} differs from the window's {length}")
    onesided = bool(int_attr(node, "onesided", 1))
    if onesided and signal.shape[2] == 2:
        raise RefusalError("onesided=1 on a complex signal")
    matrix = _Transform(length, signal.shape[2], length, False, onesided).matrix()
    parts = Expansion(node, context)
    kernel = matrix.transpose(2, 3, 1, 0).reshape(-1, matrix.shape[1], length)
    weight = parts.constant("turns", kernel.astype(np.float32))
    if window:
        weight = parts.add("windowed", "Mul", weight, window)
    channels = parts.add("channels", "Transpose", node.input(0), perm=(0, 2, 1))
    spectrum = parts.add(
        "spectrum", "Conv", channels, weight,
        group=1, pads=(0, 0), strides=(step[0],), dilations=(1,),
    )  # fmt: skip
    frames = parts.type(spectrum).shape[2]
    rows = parts.add("frames", "Transpose", spectrum, perm=(0, 2, 1))
    return parts.result(
        "Reshape", rows, shape=(signal.shape[0], frames, matrix.shape[2], matrix.shape[3])
    )


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "DFT": ((17, dft_17), (20, dft_20)),
    "STFT": ((17, stft),),
}
