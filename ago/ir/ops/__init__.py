"""The canonical operators: everything a `Graph` may hold, one table row each.

Read `OPERATORS` and `Operator` first. Invariant: semantics are ONNX's newest on logical shapes, all
attributes explicit; each operator says which element types it takes.
"""

from ago.ir.ops import (
    activation,
    arithmetic,
    blocks,
    compare,
    conv,
    einsum,
    elementwise,
    folds,
    indexing,
    matmul,
    movement,
    normalise,
    padding,
    pool,
    rearrange,
    recurrent,
    reduce,
    regions,
    resample,
    sampling,
    selection,
    sequences,
)
from ago.ir.ops.operator import Array, Attrs, Kind, Operator

__all__ = ["OPERATORS", "Array", "Attrs", "Kind", "Operator"]

OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for family in (
        *(conv, matmul, einsum, elementwise, arithmetic, activation, compare),
        *(pool, reduce, normalise, movement, padding, blocks, resample, sampling, recurrent),
        *(folds, indexing, rearrange, regions, selection, sequences),
    )
    for operator in family.OPERATORS
}
