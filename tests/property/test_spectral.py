"""Fourier transforms: what the importer makes of them, against numpy's in float64."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.onnx_models import one_node, run_ago

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def parts(values):
    """A complex array with its real and imaginary parts along a last axis."""
    return np.stack([values.real, values.imag], -1)


@given(
    samples=st.integers(1, 9), length=st.integers(1, 12) | st.none(), axis=st.integers(0, 2),
    complex_input=st.booleans(), inverse=st.booleans(), opset=st.sampled_from([17, 20]),
)  # fmt: skip
def test_dft(samples, length, axis, complex_input, inverse, opset):
    shape = [2, 2, 3]
    shape[axis] = samples
    x = normal(*shape, 2 if complex_input else 1)
    values = x[..., 0] + 1j * x[..., 1] if complex_input else x[..., 0]
    wanted = (np.fft.ifft if inverse else np.fft.fft)(values.astype(complex), length, axis)
    place = None if length is None else np.array(length, np.int64)
    if opset == 17:
        model, feeds = one_node("DFT", [x], [place], opset, axis=axis, inverse=int(inverse))
    else:
        where = np.array(axis - 4, np.int64)
        model, feeds = one_node("DFT", [x], [place, where], opset, inverse=int(inverse))
    np.testing.assert_allclose(run_ago(model, feeds), parts(wanted), atol=1e-5)


@given(samples=st.integers(2, 9), length=st.integers(1, 12) | st.none())
def test_half_spectra(samples, length):
    place = None if length is None else np.array(length, np.int64)
    x = normal(2, samples, 1)
    model, feeds = one_node("DFT", [x], [place], 20, onesided=1)
    wanted = np.fft.rfft(x[..., 0].astype(np.float64), length, 1)
    np.testing.assert_allclose(run_ago(model, feeds), parts(wanted), atol=1e-5)
    half = normal(2, samples, 2)
    model, feeds = one_node("DFT", [half], [place], 20, onesided=1, inverse=1)
    values = half[..., 0] + 1j * half[..., 1].astype(np.float64)
    wanted = np.fft.irfft(values, length, 1)[..., None]
    np.testing.assert_allclose(run_ago(model, feeds), wanted, atol=1e-5)


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize("length", [4, 7])
def test_stft(onesided, windowed, length):
    signal, window = normal(2, 20, 1), np.hanning(length).astype(np.float32)
    size = np.array(length, np.int64)
    constants = [np.array(3, np.int64), window if windowed else None, size]
    model, feeds = one_node("STFT", [signal], constants, 17, onesided=onesided)
    frames = np.stack([signal[:, k : k + length, 0] for k in range(0, 20 - length + 1, 3)], 1)
    frames = frames.astype(np.float64) * (window if windowed else 1)
    wanted = parts((np.fft.rfft if onesided else np.fft.fft)(frames))
    np.testing.assert_allclose(run_ago(model, feeds), wanted, atol=1e-5)
