"""Matrix products.

Read `OPERATORS` first. Invariant: operands broadcast as numpy's `matmul` says, vectors included.
"""

from __future__ import annotations

import numpy as np

from ago.errors import ModelError
from ago.ir.attributes import read_float, read_int
from ago.ir.ops.operator import (
    Array,
    Attrs,
    InputArrays,
    InputTypes,
    Operator,
    array,
    optional,
    require,
    required_types,
)
from ago.ir.tensor import TensorType


def infer_matmul(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `MatMul(a[...,M,K], b[...,K,N]) -> [...,M,N]`; a vector has no `M` or `N`."""
    a, b = required_types(types, 2, 2)
    require(a.rank >= 1 and b.rank >= 1, f"needs vectors, matrices or batches, not {a} and {b}")
    require(a.shape[-1] == b.shape[-2:][0], f"inner extents of {a} and {b} differ")
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ModelError(f"batches of {a} and {b} do not broadcast") from None
    columns = b.shape[-1:] if b.rank > 1 else ()
    return (TensorType((*batch, *a.shape[:-1][-1:], *columns), a.dtype),)


def matmul_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `a @ b`."""
    with np.errstate(invalid="ignore", over="ignore"):
        return (np.asarray(array(inputs, 0) @ array(inputs, 1)),)


def infer_gemm(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Gemm(a, b, c?) -> [M,N]`, where `c` broadcasts to `[M,N]`."""
    a, b, *addend = required_types(types, 2, 3)
    require(a.rank == 2 and b.rank == 2, f"needs two matrices, not {a} and {b}")
    rows, inner = _oriented(a.shape, read_int(attrs, "trans_a"))
    inner_b, columns = _oriented(b.shape, read_int(attrs, "trans_b"))
    require(inner == inner_b, f"inner extents of {a} and {b} differ")
    for c in addend:
        room = (1,) * (2 - c.rank) + c.shape
        fits = all(e in (1, full) for e, full in zip(room, (rows, columns), strict=False))
        require(c.rank <= 2 and fits, f"{c} does not broadcast to ({rows}, {columns})")
    return (TensorType((rows, columns), a.dtype),)


def gemm_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `alpha * op(a) @ op(b) + beta * c`."""
    a, b, c = array(inputs, 0), array(inputs, 1), optional(inputs, 2)
    a = a.T if read_int(attrs, "trans_a") else a
    b = b.T if read_int(attrs, "trans_b") else b
    with np.errstate(invalid="ignore", over="ignore"):
        result = read_float(attrs, "alpha") * (a @ b)
        if c is not None:
            result = result + read_float(attrs, "beta") * c
    return (result,)


def _oriented(shape: tuple[int, ...], transposed: int) -> tuple[int, int]:
    rows, columns = shape
    return (columns, rows) if transposed else (rows, columns)


OPERATORS = (
    Operator("MatMul", "complex", infer_matmul, matmul_reference),
    Operator("Gemm", "complex", infer_gemm, gemm_reference),
)
