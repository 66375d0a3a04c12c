"""Cases of softmax and the normalisations: rows along contiguous memory and across it, odd lengths.

Read `normalisations` first. Rows shorter than two blocks of partial results, a multiple of a block,
and with a rest; behind another operator, so that channels lie last.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from ago.frontend import GraphBuilder, Value
from tests.support.cases import Body

ROWS = [
    ((5, 17), (1,)),
    ((3, 37), (1,)),
    ((2, 64), (1,)),
    ((33, 5), (0,)),
    ((2, 5, 7, 9), (1,)),
    ((2, 3, 5, 33), (2, 3)),
    ((2, 3, 4), (0, 1, 2)),
    ((1, 1), (1,)),
]


OVER_AXES: tuple[tuple[str, dict[str, object]], ...] = (
    ("Softmax", {}),
    ("LogSoftmax", {}),
    ("Hardmax", {}),
    ("LayerNormalization", {"epsilon": 0.01}),
    ("RMSNormalization", {"epsilon": 0.01}),
    ("InverseDeviation", {"epsilon": 0.01}),
    ("MeanVarianceNormalization", {"epsilon": 1e-3}),
    ("LpNormalization", {"p": 1}),
    ("LpNormalization", {"p": 2}),
)


def normalisations() -> Iterator[tuple[str, Body]]:
    """Each operator over several kinds of row, and each kind of row with several operators."""
    for (i, (op, attrs)), (k, (shape, axes)) in itertools.product(
        enumerate(OVER_AXES), enumerate(ROWS)
    ):
        if op == "Softmax" or (i + k) % 3 == 0:
            yield f"{op} {attrs} {shape} {axes}", _apply(op, shape, axes=axes, **attrs)
    for scales in ([(37,), (1,)], [(4, 37), (4, 1)]):
        yield (
            f"layer norm {scales}",
            _apply("LayerNormalization", (3, 4, 37), scales, axes=(2,), epsilon=1e-5),
        )
    for groups in (1, 2, 6):
        for shape in ((2, 6, 5, 7), (2, 6, 35), (3, 6), (1, 6, 4, 4)):
            yield (
                f"groups {groups} {shape}",
                _apply("GroupNormalization", shape, [(6,), (6,)], groups=groups, epsilon=0.01),
            )
    for size in (1, 2, 3, 5, 9):
        yield f"lrn {size}", _apply("LRN", (2, 7, 5, 3), size=size, alpha=0.3, beta=0.75, bias=1.5)


def _apply(
    op: str, shape: Sequence[int], scales: Sequence[Sequence[int]] = (), **attrs: object
) -> Body:
    """The operator on an input, and on the result of another one."""

    def body(b: GraphBuilder, rng: np.random.Generator) -> tuple[Value, Value]:
        x = b.input("x", shape)
        operands = [b.constant(rng.standard_normal(scale)) for scale in scales]
        inner = b.apply(op, b.add(x, 0.5), *operands, **attrs)
        return b.apply(op, x, *operands, **attrs), b.mul(inner, 2.0)

    return body
