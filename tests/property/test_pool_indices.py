"""Indices of MaxPool, against their definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ago.frontend import load
from ago.ir.evaluate import evaluate
from tests.support.onnx_models import one_node


def indices(x, kernel, strides, dilations, pads, by_column):
    """The first greatest element of each window, by its place in the flattened input."""
    batch, channels, height, width = x.shape
    counts = [
        (n + pads[k] + pads[k + 2] - (kernel[k] - 1) * dilations[k] - 1) // strides[k] + 1
        for k, n in enumerate((height, width))
    ]
    result = np.zeros((batch, channels, *counts), np.int64)
    for n, c, i, j in np.ndindex(*result.shape):
        rows = [i * strides[0] - pads[0] + t * dilations[0] for t in range(kernel[0])]
        columns = [j * strides[1] - pads[1] + t * dilations[1] for t in range(kernel[1])]
        places = [(r, s) for r in rows for s in columns if 0 <= r < height and 0 <= s < width]
        r, s = max(places, key=lambda place: x[(n, c, *place)])
        inner = s * height + r if by_column else r * width + s
        result[n, c, i, j] = (n * channels + c) * height * width + inner
    return result


@st.composite
def pools(draw):
    kernel = [draw(st.integers(1, 3)) for _ in range(2)]
    pads = [draw(st.integers(0, kernel[k % 2] - 1)) for k in range(4)]
    strides = [draw(st.integers(1, 3)) for _ in range(2)]
    dilations = [draw(st.integers(1, 2)) if not any(pads) else 1 for _ in range(2)]
    shape = (draw(st.sampled_from([1, 2])), draw(st.integers(1, 3)), 6, 5)
    order = np.random.default_rng(draw(st.integers(0, 99))).integers(-3, 4, shape)
    return order.astype(np.float32), kernel, strides, dilations, pads, draw(st.booleans())


@given(pools())
def test_indices_of_maxima(case):
    x, kernel, strides, dilations, pads, by_column = case
    model, feeds = one_node(
        "MaxPool", [x], outputs=("y", "where"), kernel_shape=kernel, strides=strides,
        dilations=dilations, pads=pads, storage_order=int(by_column),
    )  # fmt: skip
    model.graph.output[0].name = "where"
    wanted = indices(x, kernel, strides, dilations, pads, by_column)
    np.testing.assert_array_equal(evaluate(load(model), feeds)["where"], wanted)
