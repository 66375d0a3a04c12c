"""Cases of several nodes: what partition, layouts, views and workspace have to get right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ago.frontend import GraphBuilder, Value
from tests.support.cases import Body, Case, make_case, special

Outputs = Value | tuple[Value, ...]


def _conv(
    b: GraphBuilder, rng: np.random.Generator, x: Value, filters: int, kernel: int = 3
) -> Value:
    weight = rng.standard_normal((filters, x.shape[1], kernel, kernel))
    return b.conv(x, weight, rng.standard_normal(filters), pads=kernel // 2)


def _residual_block(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    x = b.relu(b.input("x", (2, 5, 7, 9)))
    return b.relu(b.add(_conv(b, rng, b.relu(_conv(b, rng, x, 17)), 5), x))


def _residual_of_two_convolutions(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    x = b.input("x", (1, 3, 7, 7))
    return b.add(_conv(b, rng, x, 9), _conv(b, rng, x, 9, 1))


def _chain_of_residuals(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    x = b.relu6(_conv(b, rng, b.input("x", (1, 3, 9, 9)), 8))
    for _ in range(3):
        x = b.add(x, _conv(b, rng, b.relu6(_conv(b, rng, x, 24, 1)), 8))
    return b.gemm(b.flatten(b.global_average_pool(x)), rng.standard_normal((8, 5)))


def _result_is_also_an_output(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    first = _conv(b, rng, b.input("x", (1, 5, 7, 7)), 17)
    second = b.relu(first)
    return first, second, _conv(b, rng, second, 3)


def _output_added_to_another(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    first = b.relu(_conv(b, rng, b.input("x", (2, 5, 7, 9)), 8))
    return first, b.add(_conv(b, rng, first, 8), first)


def _same_value_under_two_names(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    y = b.relu(b.input("x", (2, 5, 7)))
    return y, b.identity(y), b.identity(b.identity(y))


def _views_of_an_input(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    x = b.input("x", (2, 5, 7, 3))
    return b.identity(x), b.flatten(x), b.reshape(x, (7, 30))


def _views_of_a_result(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    y = b.relu(_conv(b, rng, b.input("x", (2, 3, 5, 7)), 8))
    flat = b.flatten(y)
    return flat, b.gemm(flat, rng.standard_normal((280, 9))), b.reshape(flat, (16, 35))


def _view_outlives_its_source(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    x = b.relu(b.input("x", (5, 16)))
    view = b.reshape(x, (1, 80))
    long = x
    for _ in range(4):
        long = b.matmul(long, rng.standard_normal((16, 16)))
    return b.add(b.reshape(long, (1, 80)), view)


def _two_readers_of_one_border(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    x = b.relu(b.input("x", (1, 5, 9, 9)))
    return _conv(b, rng, x, 8), _conv(b, rng, x, 3), b.add(_conv(b, rng, x, 5), x)


def _borders_of_different_widths(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    x = b.input("x", (1, 5, 9, 9))
    return b.add(_conv(b, rng, x, 8, 5), b.add(_conv(b, rng, x, 8, 3), _conv(b, rng, x, 8, 7)))


def _used_twice_by_one_node(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    x = b.relu(_conv(b, rng, b.input("x", (1, 3, 5, 5)), 5))
    return b.mul(x, x), b.matmul(m := b.relu(b.input("m", (7, 7))), m)


def _one_weight_for_two(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    weight = b.constant(rng.standard_normal((8, 8, 3, 3)))
    x = b.input("x", (1, 8, 7, 7))
    return b.conv(b.relu(b.conv(x, weight, pads=1)), weight, pads=1)


def _broadcast_result(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    x = _conv(b, rng, b.input("x", (2, 3, 7, 9)), 17)
    gate = b.clip(_conv(b, rng, b.global_average_pool(x), 17, 1), -0.5, 0.5)
    return b.mul(x, gate)


def _diamond(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    x = b.relu(b.input("x", (1, 9, 5, 5)))
    left, right = b.clip(x, 0.0, 1.0), b.mul(x, rng.standard_normal((9, 1, 1)))
    return b.sub(b.add(left, right), b.add(right, b.relu6(left)))


def _constant_output(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    c = b.constant(rng.standard_normal((3, 5)))
    return b.add(b.input("x", (3, 5)), c), b.identity(c), b.relu(c)


def _unused_input(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    b.input("unused", (3,))
    return b.relu(b.input("x", (5,)))


def _norm_before_padding(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    x = b.input("x", (1, 5, 7, 7))
    shifted = b.batch_norm(x, *rng.random((4, 5)) + 0.5)
    return _conv(b, rng, shifted, 8)


def _norm_of_a_shared_result(b: GraphBuilder, rng: np.random.Generator) -> Outputs:
    x = _conv(b, rng, b.input("x", (1, 3, 7, 7)), 5)
    return b.batch_norm(x, *rng.random((4, 5)) + 0.5), b.relu(x)


_BODIES: tuple[Body, ...] = (
    _residual_block,
    _residual_of_two_convolutions,
    _chain_of_residuals,
    _result_is_also_an_output,
    _output_added_to_another,
    _same_value_under_two_names,
    _views_of_an_input,
    _views_of_a_result,
    _view_outlives_its_source,
    _two_readers_of_one_border,
    _borders_of_different_widths,
    _used_twice_by_one_node,
    _one_weight_for_two,
    _broadcast_result,
    _diamond,
    _constant_output,
    _unused_input,
    _norm_before_padding,
    _norm_of_a_shared_result,
)


def _cases() -> Iterator[Case]:
    for seed, body in enumerate(_BODIES):
        case = make_case(body.__name__.strip("_").replace("_", " "), body, seed)
        yield case
        yield special(case)


GRAPH_CASES: tuple[Case, ...] = tuple(_cases())
"""Each graph with ordinary inputs, and with NaN and infinities."""
