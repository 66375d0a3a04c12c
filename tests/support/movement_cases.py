"""Cases of operators that move, reduce and contract, on odd sizes, in tables by kind.

Read `MOVEMENT_TABLES` first. Each operator reads an input of the graph, which is row-major, or a
map behind a pool, which is channels-last.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ago.frontend import GraphBuilder, Value
from tests.support.cases import Body, Case, make_case, special

MAP = (2, 5, 7, 9)
BORDERS = {
    "edge": (1, 9, 8, 2, 2, 1, 0, 3),
    "wrap": (1, 9, 8, 2, 2, 1, 0, 3),
    "reflect": (0, 4, 3, 1, 1, 2, 6, 8),
    "constant": (1, 2, 0, 3, 2, 1, 1, 0),
}


def of_input(op: str, shape: Sequence[int], /, **attrs: object) -> Body:
    """The operator on an input."""
    return lambda b, rng: b.apply(op, b.input("x", shape), **attrs)


def of_map(op: str, shape: Sequence[int], /, **attrs: object) -> Body:
    """The operator between two pools of one pixel."""

    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        y = b.apply(op, b.max_pool(b.input("x", shape), 1), **attrs)
        return b.max_pool(y, 1) if len(y.shape) > 2 else b.mul(y, 2.0)

    return body


def both(
    name: str, op: str, shape: Sequence[int], /, **attrs: object
) -> Iterator[tuple[str, Body]]:
    """The operator on an input, and on a map where the input may be one."""
    yield f"{op} {name}", of_input(op, shape, **attrs)
    if len(shape) > 2:
        yield f"{op} {name} of a map", of_map(op, shape, **attrs)


def _movements() -> Iterator[tuple[str, Body]]:
    for perm in itertools.permutations(range(3)):
        yield from both(f"{perm}", "Transpose", (2, 5, 9), perm=perm)
    for perm in ((0, 2, 3, 1), (0, 3, 1, 2), (3, 1, 0, 2), (2, 3, 0, 1)):
        yield from both(f"{perm}", "Transpose", MAP, perm=perm)
    yield from both("of five axes", "Transpose", (2, 3, 4, 5, 2), perm=(0, 2, 1, 4, 3))
    yield from both("of a matrix", "Transpose", (17, 9), perm=(1, 0))
    yield from both("of channels", "Slice", MAP, **SOME)
    yield from both("of vectors", "Slice", (2, 32, 3, 3), **CHANNELS)
    yield from both("with steps", "Slice", MAP, starts=(1, 4, 6, 1), **BACK)
    yield from both("of a line", "Slice", (17,), starts=(16,), steps=(-3,), shape=(6,))
    yield from both("new axes", "Expand", (5, 1, 9), shape=(2, 5, 7, 9))
    yield from both("same rank", "Expand", (1, 5, 1, 9), shape=MAP)
    yield from both("of a number", "Expand", (), shape=(3, 5))
    yield from both("once", "Tile", MAP, repeats=(1, 1, 1, 1))
    yield from both("all axes", "Tile", (2, 3, 1, 5), repeats=(2, 3, 2, 1))
    for block, first in itertools.product((2, 3), (0, 1)):
        attrs = {"block": block, "depth_first": first}
        name = f"of {block} {first}"
        yield from both(name, "DepthToSpace", (2, 2 * block * block, 3, 5), **attrs)
        yield from both(name, "SpaceToDepth", (2, 3, 3 * block, 2 * block), **attrs)
    tables = ((0, 0, 2, 4, 1), (4, 3, 2), (0, 0, 1, 1, 2, 2), (3,), (2, 2, 2))
    for axis, table in itertools.product((1, 2, -1), tables):
        yield from both(f"{table} {axis}", "Take", (2, 5, 7, 9), axis=axis % 4, indices=table)
    yield from both("of a matrix", "Take", (5, 17), axis=1, indices=(0, 2, 5, 16, 3))
    for k, upper in itertools.product((-2, 0, 3), (0, 1)):
        yield from both(f"{k} {upper}", "Trilu", (2, 5, 7), k=k, upper=upper)
    for axis in range(4):
        yield f"concat {axis}", concat(axis, (2, 3, 1))
    yield "concat of vectors", concat(1, (8, 16, 8))
    yield "shuffle", shuffle((2, 12, 3, 5), 3)
    for groups, channels in ((2, 29), (2, 16), (3, 5), (9, 4)):
        yield f"interleave {groups} {channels}", interleave(groups, channels)
    yield "unfold and fold", patches((1, 10, 6, 8))
    yield "split heads", split_heads(2, 5, 4, 3, 8)
    yield "split odd heads", split_heads(1, 5, 2, 3, 5)
    yield "shuffle of vectors", shuffle((2, 32, 3, 5), 2)
    yield "heads", heads((2, 7, 24), 3)
    yield "slices of slices", slices
    for shape, count in (((2, 7, 24), 3), ((1, 16, 64), 4), ((5, 9, 40), 2)):
        yield f"attention {shape}", attention(shape, count)
    yield "tokens", tokens
    yield "rows of maps", rows_of_maps


SOME = {"starts": (0, 1, 0, 0), "steps": (1, 1, 1, 1), "shape": (2, 3, 7, 9)}
CHANNELS = {"starts": (0, 8, 0, 0), "steps": (1, 1, 1, 1), "shape": (2, 16, 3, 3)}
BACK = {"steps": (1, -2, -3, 2), "shape": (1, 3, 3, 4)}


def attention(shape: Sequence[int], count: int) -> Body:
    """Queries, keys and values as parts of one product, as views."""

    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        n, rows, width = shape
        size = width // count
        x = b.matmul(b.input("x", shape), rng.standard_normal((width, 3 * width)))
        parts = b.apply("Transpose", b.reshape(x, (n, rows, 3, count, size)), perm=(2, 0, 3, 1, 4))
        whole = {"steps": (1,) * 5, "shape": (1, n, count, rows, size)}
        q, k, v = (
            b.reshape(
                b.apply("Slice", parts, starts=(part, 0, 0, 0, 0), **whole), whole["shape"][1:]
            )
            for part in range(3)
        )
        scores = b.matmul(q, b.apply("Transpose", k, perm=(0, 1, 3, 2)))
        mixed = b.apply("Transpose", b.matmul(b.mul(scores, 0.1), v), perm=(0, 2, 1, 3))
        return b.matmul(b.reshape(mixed, shape), rng.standard_normal((width, width)))

    return body


def tokens(b: GraphBuilder, rng: np.random.Generator) -> Value:
    """Rows joined along a sequence, and a part of them."""
    weight = rng.standard_normal((9, 17))
    parts = [b.matmul(b.input(f"x{rows}", (2, rows, 9)), weight) for rows in (1, 6)]
    joined = b.relu(b.concat(parts, 1))
    tail = {"starts": (0, 2, 0), "steps": (1, 1, 1), "shape": (2, 3, 17)}
    return b.matmul(b.apply("Slice", joined, **tail), rng.standard_normal((17, 5)))


def rows_of_maps(b: GraphBuilder, rng: np.random.Generator) -> Value:
    """Maps joined row behind row, and a window cut out of them."""
    weight = rng.standard_normal((17, 5, 3, 3))
    parts = [b.relu(b.conv(b.input(f"x{h}", (2, 5, h, 9)), weight, pads=1)) for h in (3, 7)]
    joined = b.concat(parts, 2)
    part = {"starts": (0, 0, 2, 0), "steps": (1, 1, 1, 1), "shape": (2, 17, 6, 9)}
    return b.max_pool(b.apply("Slice", b.max_pool(joined, 3, pads=1), **part), 2)


def concat(axis: int, extents: Sequence[int]) -> Body:
    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        shapes = [tuple(e if d == axis else (2, 5, 7, 9)[d] for d in range(4)) for e in extents]
        parts = [b.max_pool(b.input(f"x{k}", shape), 1) for k, shape in enumerate(shapes)]
        return b.max_pool(b.concat(parts, axis), 1)

    return body


def shuffle(shape: Sequence[int], groups: int) -> Body:
    """Channels dealt out: Reshape, Transpose, Reshape."""

    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        n, c, h, w = shape
        x = b.reshape(b.max_pool(b.input("x", shape), 1), (n, groups, c // groups, h, w))
        y = b.apply("Transpose", x, perm=(0, 2, 1, 3, 4))
        return b.max_pool(b.reshape(y, shape), 1)

    return body


def interleave(groups: int, channels: int) -> Body:
    """Channels of several maps dealt out and cut in two; one half is made to be read twice."""

    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        shape = (2, channels, 3, 5)
        parts = [b.relu(b.max_pool(b.input(f"x{i}", shape), 1)) for i in range(groups)]
        whole = (2, groups * channels, 3, 5)
        split = b.reshape(b.concat(parts, 1), (2, groups, channels, 3, 5))
        dealt = b.reshape(b.apply("Transpose", split, perm=(0, 2, 1, 3, 4)), whole)
        half = groups * (channels // 2)
        halves = [
            b.max_pool(channels_of(b, dealt, start, count), 1)
            for start, count in ((0, half), (half, whole[1] - half))
        ]
        return b.concat([*halves[::-1], halves[0]], 1)

    return body


def channels_of(b: GraphBuilder, x: Value, start: int, count: int) -> Value:
    """Neighbouring channels of a map."""
    n, _, h, w = x.shape
    starts, steps = (0, start, 0, 0), (1, 1, 1, 1)
    return b.apply("Slice", x, starts=starts, steps=steps, shape=(n, count, h, w))


def patches(shape: tuple[int, int, int, int]) -> Body:
    """Pixels sorted by their place in patches of 2x2, scaled, and put back."""

    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        n, c, h, w = shape
        rows, columns = h // 2, w // 2
        x = b.reshape(b.max_pool(b.input("x", shape), 1), (n * c * rows, 2, columns, 2))
        x = b.reshape(b.apply("Transpose", x, perm=(0, 2, 1, 3)), (n, c, rows * columns, 4))
        x = b.reshape(b.apply("Transpose", x, perm=(0, 3, 2, 1)), (n * 4, rows * columns, c))
        x = b.apply("Softmax", b.mul(x, 0.5), axes=(2,))
        x = b.apply("Transpose", b.reshape(x, (n, 4, rows * columns, c)), perm=(0, 3, 2, 1))
        x = b.apply("Transpose", b.reshape(x, (n * c * rows, columns, 2, 2)), perm=(0, 2, 1, 3))
        return b.max_pool(b.reshape(x, shape), 1)

    return body


def split_heads(batch: int, tokens: int, parts: int, heads: int, size: int) -> Body:
    """Rows cut in parts of several heads; products of parts, and the heads side by side again."""

    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        x = b.matmul(
            b.input("x", (batch, tokens, 6)), rng.standard_normal((6, parts * heads * size))
        )
        x = b.reshape(x, (batch, tokens, parts, heads, size))
        x = b.apply("Transpose", x, perm=(2, 0, 3, 1, 4))
        q, k, v = (
            b.reshape(
                b.apply(
                    "Slice",
                    x,
                    starts=(part, 0, 0, 0, 0),
                    steps=(1, 1, 1, 1, 1),
                    shape=(1, *x.shape[1:]),
                ),
                x.shape[1:],
            )
            for part in (0, 1, parts - 1)
        )
        scores = b.matmul(b.mul(q, 0.5), b.apply("Transpose", k, perm=(0, 1, 3, 2)))
        y = b.apply("Transpose", b.matmul(scores, v), perm=(0, 2, 1, 3))
        y = b.reshape(y, (batch, tokens, heads * size))
        return b.matmul(y, rng.standard_normal((heads * size, 5)))

    return body


def heads(shape: Sequence[int], count: int) -> Body:
    """Attention without its softmax: products of transposed views."""

    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        n, rows, width = shape
        x = b.input("x", shape)
        parts = [b.matmul(x, rng.standard_normal((width, width))) for _ in range(3)]
        split = [b.reshape(part, (n, rows, count, width // count)) for part in parts]
        q, v = (b.apply("Transpose", split[k], perm=(0, 2, 1, 3)) for k in (0, 2))
        scores = b.matmul(q, b.apply("Transpose", split[1], perm=(0, 2, 3, 1)))
        mixed = b.apply("Transpose", b.matmul(b.mul(scores, 0.1), v), perm=(0, 2, 1, 3))
        return b.add(x, b.matmul(b.reshape(mixed, shape), rng.standard_normal((width, width))))

    return body


def slices(b: GraphBuilder, rng: np.random.Generator) -> Value:
    """Views of views, one of them joined again with what it is a part of."""
    x = b.max_pool(b.input("x", (2, 32, 3, 3)), 1)
    whole = {"steps": (1, 1, 1, 1), "shape": (2, 16, 3, 3)}
    part = b.apply("Slice", x, starts=(0, 16, 0, 0), **whole)
    less = b.apply("Slice", part, starts=(0, 8, 0, 0), **{**whole, "shape": (2, 8, 3, 3)})
    return b.max_pool(b.concat([b.relu(part), less, b.max_pool(less, 1)], 1), 1)


def _pads() -> Iterator[tuple[str, Body]]:
    for mode, pads in BORDERS.items():
        attrs = {"mode": mode, "value": -1.5}
        yield from both(mode, "Pad", MAP, pads=pads, **attrs)
        yield from both(f"{mode} and crop", "Pad", MAP, pads=(0, -1, 2, -1, 0, 1, -3, 2), **attrs)
        yield from both(f"{mode} of a line", "Pad", (5,), pads=(3, 4), **attrs)
        yield from both(f"{mode} of one", "Pad", (1, 1, 5), pads=(1, 0, 2, 2, 3, 0), **attrs)
    far = (0, 0, 13, 9, 0, 0, 20, 17)
    yield from both("far", "Pad", (1, 2, 4, 5), pads=far, mode="reflect", value=0.0)


REDUCTIONS = (
    *("ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"),
    *("ReduceProd", "ReduceSum", "ReduceSumSquare"),
)


def _reductions() -> Iterator[tuple[str, Body]]:
    axes = [(0,), (1,), (1, 2), (2, 3), (0, 1, 2, 3), ()]
    for number, (op, some) in enumerate(itertools.product(REDUCTIONS, axes)):
        if op == "ReduceProd" and len(some) > 2:
            continue  # so many factors underflow
        yield f"{op} {some}", of_input(op, (2, 3, 5, 7), axes=some, keepdims=number % 2)
        if number % 4 == 0:
            yield f"{op} {some} of a map", of_map(op, (2, 3, 5, 7), axes=some, keepdims=1)
    for op, size in itertools.product(REDUCTIONS, (40, 65)):
        if op != "ReduceProd":
            yield f"{op} of rows of {size}", of_input(op, (3, size), axes=(1,), keepdims=0)
    yield "ReduceProd of rows", of_input("ReduceProd", (5, 37), axes=(1,), keepdims=1)
    yield "ReduceMax of planes", of_input("ReduceMax", (2, 3, 7, 9, 5), axes=(1, 4), keepdims=0)
    yield "ReduceSum of all", of_input("ReduceSum", (7, 65), axes=(0, 1), keepdims=0)
    for p in (1, 2, 3):
        pool = {
            "kernel_shape": (3, 2),
            "strides": (1, 2),
            "dilations": (2, 1),
            "pads": (0, 0, 0, 0),
        }
        yield f"norms of {p}", of_input("LpPool", (2, 17, 7, 9), p=p, ceil_mode=0, **pool)
    for op in REDUCTIONS:
        yield f"{op} of a line", of_input(op, (17,), axes=(0,), keepdims=0)
        yield f"{op} of a number", of_input(op, (), axes=(), keepdims=0)


def _products() -> Iterator[tuple[str, Body]]:
    shapes = [
        ((7,), (7,)),
        ((7,), (7, 17)),
        ((9, 7), (7,)),
        ((7,), (3, 7, 5)),
        ((3, 5, 7), (7,)),
        ((3, 9, 7), (3, 7, 17)),
        ((2, 3, 9, 7), (2, 3, 7, 17)),
        ((2, 1, 9, 8), (3, 8, 16)),
        ((5, 9, 7), (7, 17)),
        ((9, 7), (3, 7, 17)),
        ((2, 5, 1, 7), (1, 5, 7, 3)),
        ((3, 16, 8), (3, 8, 1)),
        ((1, 1, 1), (1, 1, 1)),
    ]
    for left, right in shapes:
        yield f"{left} {right}", product(left, right, constant=False)
        yield f"{left} constant {right}", product(left, right, constant=True)
    yield "transposed", transposed_product
    yield "conv with variable weights", variable_conv((2, 5, 7, 9), (17, 5, 3, 3), 1)
    yield "grouped conv with variable weights", variable_conv((1, 6, 14), (9, 2, 3), 3)
    yield "conv of three axes", variable_conv((1, 3, 4, 5, 6), (8, 3, 2, 3, 1), 1)


def product(left: Sequence[int], right: Sequence[int], *, constant: bool) -> Body:
    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        other = rng.standard_normal(right) if constant else b.input("y", right)
        return b.mul(b.matmul(b.input("x", left), other), 2.0)

    return body


def transposed_product(b: GraphBuilder, rng: np.random.Generator) -> Value:
    keys = b.apply("Transpose", b.relu(b.input("y", (3, 17, 8))), perm=(0, 2, 1))
    return b.matmul(b.input("x", (3, 9, 8)), keys)


def variable_conv(shape: Sequence[int], weight: Sequence[int], group: int) -> Body:
    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        return b.relu(b.conv(b.input("x", shape), b.input("w", weight), pads=1, group=group))

    return body


def typed(op: str, dtype: str, shape: Sequence[int], /, **attrs: object) -> tuple[str, Body]:
    """The operator on an input of an element type."""
    return f"{op} of {dtype}", lambda b, rng: b.apply(op, b.input("x", shape, dtype), **attrs)


def _other_types() -> Iterator[tuple[str, Body]]:
    for dtype in ("i64", "u8", "bool", "f64"):
        yield typed("Transpose", dtype, (3, 5, 7), perm=(2, 0, 1))
        yield typed("Slice", dtype, (9,), starts=(8,), steps=(-2,), shape=(4,))
        yield typed("Pad", dtype, (3, 5), mode="constant", pads=(1, 0, 2, 3), value=1.0)
        yield typed("Take", dtype, (3, 5), axis=1, indices=(4, 0, 0, 2))
        yield typed("Expand", dtype, (5, 1), shape=(2, 5, 3))
        yield f"Concat of {dtype}", joined(dtype)
    yield typed("Trilu", "i32", (5, 5), k=1, upper=0)
    yield typed("Pad", "i8", (3, 5), mode="reflect", pads=(1, 2, 2, 4), value=0.0)
    for op, dtype in (("ReduceSum", "i64"), ("ReduceMax", "i8"), ("ReduceMin", "u8")):
        yield typed(op, dtype, (3, 5, 7), axes=(0, 2), keepdims=0)
    for op in ("ReduceMean", "ReduceProd", "ReduceL1", "ReduceSumSquare"):
        yield typed(op, "i32", (3, 5), axes=(1,), keepdims=1)
    yield typed("ReduceMax", "f64", (3, 5), axes=(0,), keepdims=1)


def joined(dtype: str) -> Body:
    return lambda b, rng: b.concat([b.input(n, (2, 3), dtype) for n in ("x", "y")], 0)


def _table(bodies: Iterator[tuple[str, Body]]) -> tuple[Case, ...]:
    """Cases of some bodies; every fifth reads NaN and infinities."""
    cases = [make_case(name, body, seed) for seed, (name, body) in enumerate(bodies)]
    return (*cases, *(special(case) for case in cases[::5]))


MOVEMENT_TABLES: Mapping[str, tuple[Case, ...]] = {
    "movements of maps": _table(_movements()),
    "borders": _table(_pads()),
    "movements of other types": _table(_other_types()),
    "reductions of all kinds": _table(_reductions()),
    "batched products": _table(_products()),
}
"""Cases by the kind of their operator."""
