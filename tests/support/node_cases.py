"""Cases of one node each, with inputs of any element type.

Read `node_case` first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ago.ir.graph import Graph, Node
from ago.ir.ops import OPERATORS
from ago.ir.tensor import TensorType, dtype_name
from tests.support.cases import Case

DTYPES = ("float32", "int64", "int32", "int16", "int8", "uint8")
"""Element types that externs compute with."""


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


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def numbers(shape: Sequence[int], dtype: str, seed: int = 3) -> np.ndarray:
    """Small numbers with repetitions; of bool where asked for."""
    values = np.random.default_rng(seed).integers(-4, 5, shape)
    return (values > 0) if dtype == "bool" else values.astype(dtype)


def indices(shape: Sequence[int], extent: int, dtype: str = "int64") -> np.ndarray:
    """Random indices, some of them out of range and at the ends of their type."""
    rng = np.random.default_rng(9)
    values = rng.integers(-extent, extent, shape).astype(dtype)
    ends = np.iinfo(dtype)
    wild = rng.choice(np.array([extent, -extent - 1, ends.max, ends.min], dtype), shape)
    return np.where(rng.random(shape) < 0.2, wild, values).astype(dtype)
