"""Cases of every extern, in tables by kind: one node each, on random numbers and odd sizes.

Read `EXTERN_TABLES` and `node_case` first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ago.ir.graph import Graph, Node
from ago.ir.ops import OPERATORS
from ago.ir.tensor import TensorType, dtype_name
from tests.support.cases import Case


def node_case(
    name: str,
    op: str,
    inputs: Sequence[np.ndarray | None],
    constants: Sequence[int] = (),
    **attrs: object,
) -> Case:
    """A graph of one node.

    Args:
        name: Name of the case.
        op: The operator.
        inputs: Its inputs; None for an absent one.
        constants: Positions of the inputs that are parameters of the model.
        attrs: All its attributes.
    """
    names = ["" if array is None else f"x{k}" for k, array in enumerate(inputs)]
    arrays = {n: array for n, array in zip(names, inputs, strict=True) if array is not None}
    types = {n: TensorType(array.shape, dtype_name(array.dtype)) for n, array in arrays.items()}
    results = OPERATORS[op].infer([types.get(n) for n in names], attrs)
    outputs = tuple(f"y{k}" for k in range(len(results)))
    params = {names[k]: arrays.pop(names[k]) for k in constants}
    node = Node("node", op, tuple(names), outputs, attrs, results)
    graph = Graph.make("case", {n: types[n] for n in arrays}, [node], outputs, params)
    return Case(name, graph, arrays)


def _normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def _grid_samples() -> Iterator[Case]:
    modes = itertools.product(
        ("nearest", "linear", "cubic"), ("zeros", "border", "reflection"), (0, 1)
    )
    images = itertools.cycle([(2, 3, 4, 5), (1, 1, 7), (2, 17, 3, 1), (1, 2, 3, 2, 5)])
    for (mode, padding, aligned), shape in zip(modes, images, strict=False):
        rank = len(shape) - 2
        grid = 1.5 * _normal(1, shape[0], *(3, 2, 2)[:rank], rank)
        attrs = {"mode": mode, "padding_mode": padding, "align_corners": aligned}
        name = f"{mode} {padding} {'aligned' if aligned else 'apart'} {rank}d"
        yield node_case(name, "GridSample", [_normal(2, *shape), grid], **attrs)
        grid = grid.copy()
        grid[0, 0] = np.inf
        grid[0, 1] = np.nan
        grid[0, 2] = -1e30
        yield node_case(f"{name} far", "GridSample", [_normal(3, *shape), grid], **attrs)


EXTERN_TABLES: Mapping[str, tuple[Case, ...]] = {
    "grid sample": tuple(_grid_samples()),
}
"""Cases by kind."""
