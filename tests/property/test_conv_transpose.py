"""Transposed convolutions: what the importer makes of them, against their definition."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.onnx_models import integers, one_node, run_ago


def scattered(x, w, bias, group, strides, dilations, before, rows):
    """Each element of `x` adds its multiple of the kernel to the result; in float64."""
    batch, channels = x.shape[:2]
    depth, filters = channels // group, w.shape[1]
    result = np.zeros((batch, group * filters, *rows)) + bias.reshape(-1, *[1] * len(rows))
    for place in np.ndindex(*x.shape[2:]):
        for tap in np.ndindex(*w.shape[2:]):
            row = [
                p * s + t * d - b
                for p, s, t, d, b in zip(place, strides, tap, dilations, before, strict=True)
            ]
            if any(not 0 <= r < n for r, n in zip(row, rows, strict=True)):
                continue
            for g, o, c in itertools.product(range(group), range(filters), range(depth)):
                value = x[:, g * depth + c][(slice(None), *place)].astype(np.float64)
                result[(slice(None), g * filters + o, *row)] += value * w[(g * depth + c, o, *tap)]
    return result


@st.composite
def nodes(draw):
    rank, group = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    depth, filters = draw(st.integers(1, 2)), draw(st.integers(1, 3))

    def each(low, high):
        return draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank))

    extents, kernel, strides, dilations = each(1, 4), each(1, 4), each(1, 3), each(1, 2)
    full = [
        (n - 1) * s + (k - 1) * d + 1
        for n, s, k, d in zip(extents, strides, kernel, dilations, strict=True)
    ]
    attrs = {"strides": strides, "dilations": dilations, "group": group}
    kind = draw(st.sampled_from(["pads", "shape", "SAME_UPPER", "SAME_LOWER"]))
    if kind == "pads":
        more = [
            draw(st.integers(0, max(s, d) - 1)) for s, d in zip(strides, dilations, strict=True)
        ]
        before = [draw(st.integers(0, (f - 1) // 2)) for f in full]
        after = [draw(st.integers(0, (f - 1) // 2)) for f in full]
        attrs |= {"pads": [*before, *after], "output_padding": more}
        rows = [f + m - b - a for f, m, b, a in zip(full, more, before, after, strict=True)]
    elif kind == "shape":
        rows = [draw(st.integers(1, f + 1)) for f in full]
        attrs |= {"output_shape": rows}
    else:
        rows = [n * s for n, s in zip(extents, strides, strict=True)]
        attrs |= {"auto_pad": kind}
    if kind != "pads":
        crop = [max(f - r, 0) for f, r in zip(full, rows, strict=True)]
        before = [c // 2 if kind == "SAME_UPPER" else c - c // 2 for c in crop]
    x = integers((draw(st.sampled_from([1, 2])), group * depth, *extents), 1)
    w = integers((group * depth, filters, *kernel), 2)
    return x, w, integers((group * filters,), 3), attrs, before, rows


@given(nodes())
def test_conv_transpose(case):
    x, w, bias, attrs, before, rows = case
    model, feeds = one_node("ConvTranspose", [x], [w, bias], **attrs)
    geometry = (attrs["group"], attrs["strides"], attrs["dilations"], before, rows)
    np.testing.assert_array_equal(run_ago(model, feeds), scattered(x, w, bias, *geometry))


def test_a_weight_that_is_not_constant():
    x, w = integers((1, 2, 3, 3)), integers((2, 3, 3, 3), 1)
    model, feeds = one_node("ConvTranspose", [x, w], strides=[2, 2])
    wanted = scattered(x, w, np.zeros(3), 1, (2, 2), (1, 1), (0, 0), (7, 7))
    np.testing.assert_array_equal(run_ago(model, feeds), wanted)
