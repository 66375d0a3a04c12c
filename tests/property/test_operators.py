"""Operators' references against their definitions, written as scalar loops."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ago.ir.ops import OPERATORS
from ago.ir.tensor import TensorType


@st.composite
def windows(draw: st.DrawFn, least_pad: int = -1) -> dict[str, tuple[int, ...]]:
    """Draw the geometry of a window over one to three spatial axes, and extents it fits."""
    rank = draw(st.sampled_from([1, 2, 2, 3]))

    def per_axis(low: int, high: int, count: int = rank) -> tuple[int, ...]:
        return draw(st.tuples(*[st.integers(low, high)] * count))

    kernel, strides, dilations = per_axis(1, 4 - rank // 2), per_axis(1, 3), per_axis(1, 2)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    pads = tuple(
        min(p, reach[a % rank] - 1) for a, p in enumerate(per_axis(least_pad, 3, 2 * rank))
    )
    extents = tuple(
        max(draw(st.integers(1, 7)), r - pads[a] - pads[a + rank], 3) for a, r in enumerate(reach)
    )
    return {
        "kernel_shape": kernel,
        "strides": strides,
        "dilations": dilations,
        "pads": pads,
        "extents": extents,
    }


def positions(window, index):
    """Yield each tap of the window at `index` with the input position it falls on."""
    for tap in itertools.product(*map(range, window["kernel_shape"])):
        parts = zip(
            index, window["strides"], tap, window["dilations"], window["pads"], strict=False
        )
        yield tap, tuple(i * s + t * d - p for i, s, t, d, p in parts)


def inside(position, extents) -> bool:
    return all(0 <= p < e for p, e in zip(position, extents, strict=True))


def check(op, inputs, attrs):
    """Return the reference's result, after comparing its shape with the inferred one."""
    types = [TensorType(x.shape) for x in inputs]
    (kind,) = OPERATORS[op].infer(types, attrs)
    (result,) = OPERATORS[op].reference([x.astype(np.float64) for x in inputs], attrs)
    assert result.shape == kind.shape
    assert result.dtype == np.float64
    return result


@given(
    window=windows(),
    batch=st.sampled_from([1, 2, 5]),
    group=st.sampled_from([1, 2, 3]),
    depth=st.sampled_from([1, 2, 3]),
    multiplier=st.sampled_from([1, 2]),
    biased=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_conv_is_its_definition(window, batch, group, depth, multiplier, biased, seed):
    rng = np.random.default_rng(seed)
    extents = window.pop("extents")
    kernel = window["kernel_shape"]
    x = rng.integers(-4, 5, (batch, group * depth, *extents))
    w = rng.integers(-4, 5, (group * multiplier, depth, *kernel))
    bias = rng.integers(-4, 5, len(w))
    attrs = {**window, "group": group}
    result = check("Conv", [x, w, bias] if biased else [x, w], attrs)
    for n, o, *index in np.ndindex(*result.shape):
        total = bias[o] if biased else 0
        first = o // multiplier * depth
        for tap, position in positions(window, index):
            if inside(position, extents):
                total += np.dot(x[(n, slice(first, first + depth), *position)], w[(o, ..., *tap)])
        assert result[(n, o, *index)] == total


@given(window=windows(least_pad=0), ceil=st.booleans(), seed=st.integers(0, 2**32 - 1))
def test_max_pool_is_its_definition(window, ceil, seed):
    extents = window.pop("extents")
    x = np.random.default_rng(seed).integers(-9, 10, (2, 3, *extents))
    result = check("MaxPool", [x], {**window, "ceil_mode": int(ceil)})
    for n, c, *index in np.ndindex(*result.shape):
        seen = [x[(n, c, *p)] for _, p in positions(window, index) if inside(p, extents)]
        assert result[(n, c, *index)] == max(seen, default=-np.inf)


@given(
    window=windows(least_pad=0),
    ceil=st.booleans(),
    counted=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_average_pool_is_its_definition(window, ceil, counted, seed):
    extents = window.pop("extents")
    window["dilations"] = (1,) * len(extents)
    window["pads"] = tuple(
        min(p, window["kernel_shape"][a % len(extents)] - 1) for a, p in enumerate(window["pads"])
    )
    x = np.random.default_rng(seed).integers(-9, 10, (2, 3, *extents))
    attrs = {**window, "ceil_mode": int(ceil), "count_include_pad": int(counted)}
    result = check("AveragePool", [x], attrs)
    rank = len(extents)
    befores, afters = window["pads"][:rank], window["pads"][rank:]
    for n, c, *index in np.ndindex(*result.shape):
        places = [p for _, p in positions(window, index)]
        total = sum(x[(n, c, *p)] for p in places if inside(p, extents))
        count = sum(
            all(-b <= i < e + a for i, b, a, e in zip(p, befores, afters, extents, strict=True))
            if counted
            else inside(p, extents)
            for p in places
        )
        np.testing.assert_allclose(result[(n, c, *index)], total / count, rtol=1e-12)


@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    data=st.data(),
)
def test_pad_is_its_definition(shape, data):
    rank = len(shape)
    pads = data.draw(st.tuples(*[st.integers(-2, 3)] * 2 * rank))
    kept = [e + min(pads[a], 0) + min(pads[a + rank], 0) for a, e in enumerate(shape)]
    pads = tuple(p if kept[a % rank] >= 1 else abs(p) for a, p in enumerate(pads))
    x = np.arange(np.prod(shape)).reshape(shape)
    result = check("Pad", [x], {"mode": "constant", "pads": pads, "value": -7.0})
    for index in np.ndindex(*result.shape):
        source = tuple(i - p for i, p in zip(index, pads[:rank], strict=True))
        assert result[index] == (x[source] if inside(source, shape) else -7.0)
