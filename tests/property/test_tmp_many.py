"""References of movement, reductions and products against scalar definitions; random nodes in C."""

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ago.ir.ops import OPERATORS
from ago.ir.tensor import TensorType
from tests.support.cases import Case, failures, make_case, special
from tests.support.compiled import HOST_TARGETS

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def numbered(shape):
    """An array of which every element is another number."""
    return np.arange(float(math.prod(shape))).reshape(shape) - 3


def result_of(op, inputs, **attrs):
    """The reference's result, which has the inferred shape."""
    (kind,) = OPERATORS[op].infer([TensorType(x.shape) for x in inputs], attrs)
    (result,) = OPERATORS[op].reference(list(inputs), attrs)
    assert result.shape == kind.shape
    return result


def repeated(place, extent, mode):
    """The element of `[0, extent)` that a place beside it shows, by walking there."""
    if mode == "edge":
        return min(max(place, 0), extent - 1)
    if mode == "wrap" or extent == 1:
        return place % extent
    while not 0 <= place < extent:
        place = -place if place < 0 else 2 * (extent - 1) - place
    return place


@given(SHAPES, st.sampled_from(["edge", "wrap", "reflect"]), st.data())
def test_borders_are_their_definition(shape, mode, data):
    amounts = st.integers(-2, 7)
    ends = [data.draw(st.tuples(amounts, amounts)) for _ in shape]
    left = [e + min(b, 0) + min(a, 0) for e, (b, a) in zip(shape, ends, strict=True)]
    if min(left) < 1:
        ends = [(abs(b), abs(a)) for b, a in ends]
        left = list(shape)
    pads = tuple(b for b, _ in ends) + tuple(a for _, a in ends)
    x = numbered(shape)
    result = result_of("Pad", [x], mode=mode, pads=pads, value=0.0)
    for index in np.ndindex(*result.shape):
        source = tuple(
            repeated(i - max(b, 0), extent, mode) + max(-b, 0)
            for i, (b, _), extent in zip(index, ends, left, strict=True)
        )
        assert result[index] == x[source]


REDUCTIONS = {
    "ReduceSum": sum,
    "ReduceMean": lambda items: sum(items) / len(items),
    "ReduceProd": math.prod,
    "ReduceMax": max,
    "ReduceMin": min,
    "ReduceL1": lambda items: sum(map(abs, items)),
    "ReduceL2": lambda items: math.sqrt(sum(x * x for x in items)),
    "ReduceSumSquare": lambda items: sum(x * x for x in items),
    "ReduceLogSum": lambda items: math.log(sum(items)),
    "ReduceLogSumExp": lambda items: math.log(sum(map(math.exp, items))),
}


@given(st.sampled_from(sorted(REDUCTIONS)), SHAPES, st.booleans(), st.data())
def test_reductions_are_their_definition(op, shape, keepdims, data):
    axes = tuple(sorted(data.draw(st.sets(st.sampled_from(range(len(shape)))))))
    x = np.random.default_rng(data.draw(st.integers(0, 99))).random(shape) + 0.5
    result = result_of(op, [x], axes=axes, keepdims=int(keepdims))
    outer = [range(1) if d in axes else range(e) for d, e in enumerate(shape)]
    for index in itertools.product(*outer):
        inner = [range(e) if d in axes else (index[d],) for d, e in enumerate(shape)]
        wanted = REDUCTIONS[op]([float(x[place]) for place in itertools.product(*inner)])
        at = index if keepdims else tuple(i for d, i in enumerate(index) if d not in axes)
        np.testing.assert_allclose(result[at], wanted, rtol=1e-12)


@given(st.integers(1, 3), st.booleans(), st.integers(0, 99))
def test_blocks_come_back(block, depth_first, seed):
    rng = np.random.default_rng(seed)
    n, c, h, w = (int(extent) for extent in rng.integers(1, 4, 4))
    x = numbered((n, c * block * block, h, w))
    attrs = {"block": block, "depth_first": int(depth_first)}
    image = result_of("DepthToSpace", [x], **attrs)
    for i, k, y, z in np.ndindex(*image.shape):
        place = y % block * block + z % block
        channel = place * c + k if depth_first else k * block * block + place
        assert image[i, k, y, z] == x[i, channel, y // block, z // block]
    np.testing.assert_array_equal(result_of("SpaceToDepth", [image], **attrs), x)


@given(SHAPES, st.integers(1, 4), st.integers(1, 5), st.data())
def test_interpolation_is_its_definition(shape, taps, extent, data):
    axis = data.draw(st.sampled_from(range(len(shape))))
    place = st.integers(0, shape[axis] - 1)
    indices = tuple(data.draw(st.lists(place, min_size=taps * extent, max_size=taps * extent)))
    weights = numbered((extent, taps))
    x = numbered(shape)
    result = result_of("Interpolate", [x, weights], axis=axis, indices=indices)
    for index in np.ndindex(*result.shape):
        row = index[axis]
        sources = [
            (*index[:axis], indices[row * taps + t], *index[axis + 1 :]) for t in range(taps)
        ]
        assert result[index] == sum(x[s] * weights[row, t] for t, s in enumerate(sources))


@given(st.data())
def test_einsum_is_its_definition(data):
    letters = st.text("abc", min_size=0, max_size=3)
    terms = data.draw(st.lists(letters, min_size=1, max_size=2))
    used = sorted(set("".join(terms)))
    result = "".join(data.draw(st.permutations(used)))[: data.draw(st.integers(0, len(used)))]
    extents = {letter: data.draw(st.integers(1, 3)) for letter in used}
    operands = [numbered(tuple(extents[c] for c in term)) for term in terms]
    found = result_of("Einsum", operands, equation=f"{','.join(terms)}->{result}")
    wanted = np.zeros(found.shape)
    for values in itertools.product(*(range(extents[c]) for c in used)):
        at = dict(zip(used, values, strict=True))
        factors = [x[tuple(at[c] for c in t)] for x, t in zip(operands, terms, strict=True)]
        wanted[tuple(at[c] for c in result)] += math.prod(float(f) for f in factors)
    np.testing.assert_array_equal(found, wanted)


@st.composite
def attributes(draw, op, shape):
    """Attributes with which an operator takes a tensor of a shape."""
    axes = range(len(shape))
    match op:
        case "Transpose":
            return {"perm": tuple(draw(st.permutations(axes)))}
        case "Slice":
            steps = [draw(st.sampled_from([1, 1, 2, -1, -2])) for _ in shape]
            cuts = [
                range(e)[::step][draw(st.integers(0, (e - 1) // abs(step))) :]
                for e, step in zip(shape, steps, strict=True)
            ]
            return {
                "starts": tuple(cut.start for cut in cuts),
                "steps": tuple(steps),
                "shape": tuple(map(len, cuts)),
            }
        case "Pad":
            mode = draw(st.sampled_from(["constant", "edge", "wrap", "reflect"]))
            pads = tuple(draw(st.integers(0, 3)) for _ in (*shape, *shape))
            return {"mode": mode, "pads": pads, "value": -1.5}
        case "Take":
            axis = draw(st.sampled_from(axes))
            place = st.integers(0, shape[axis] - 1)
            indices = draw(st.lists(place, min_size=1, max_size=9))
            return {"axis": axis, "indices": tuple(indices)}
        case "Tile":
            return {"repeats": tuple(draw(st.integers(1, 2)) for _ in shape)}
        case _:
            chosen = draw(st.sets(st.sampled_from(axes)))
            return {"axes": tuple(sorted(chosen)), "keepdims": 1}


@st.composite
def chains(draw, number):
    """A chain of nodes behind an input, or behind a pool, whose result is channels-last."""
    shape = draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 17]), min_size=1, max_size=5).map(tuple))
    ops = ("Transpose", "Slice", "Pad", "Take", "Tile", "ReduceMax", "ReduceSum")
    steps = []
    kind = TensorType(shape)
    for op in draw(st.lists(st.sampled_from(ops), min_size=1, max_size=4)):
        attrs = draw(attributes(op, kind.shape))
        (after,) = OPERATORS[op].infer([kind], attrs)
        if after.size < 20_000:
            steps.append((op, attrs))
            kind = after
    pooled = 3 <= len(shape) <= 5 and draw(st.booleans())

    def body(b, rng):
        x = b.input("x", shape)
        x = b.max_pool(x, 1) if pooled else b.relu(x)
        return functools.reduce(lambda y, step: b.apply(step[0], y, **step[1]), steps, x)

    case = make_case(f"chain {number}", body, number)
    return special(case) if draw(st.booleans()) else case


BATCHES = st.tuples(*(chains(number) for number in range(12))).map(list)
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""Without shrinking: each example runs a C compiler."""


@settings(max_examples=2, phases=PHASES)
@given(BATCHES)
def test_random_chains(cases: list[Case]):
    assert failures(cases, HOST_TARGETS[-1]) == []


@pytest.mark.slow
@settings(max_examples=12, phases=PHASES)
@given(BATCHES, st.sampled_from(HOST_TARGETS))
def test_many_random_chains(cases: list[Case], target: str):
    assert failures(cases, target) == []
