"""The canonical operators: everything a `Graph` may hold, one table row each.

Read `OPERATORS` and `Operator` first. Invariant: semantics are ONNX's newest on logical shapes, all
attributes explicit; each operator says which element types it takes.
"""

from ago.ir.ops import (
    blocks,
    conv,
    elementwise,
    matmul,
    movement,
    normalise,
    padding,
    pool,
    recurrent,
    reduce,
    sampling,
)
from ago.ir.ops.operator import Array, Attrs, Kind, Operator

__all__ = ["OPERATORS", "Array", "Attrs", "Kind", "Operator"]

OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for family in (
        *(conv, matmul, elementwise, pool, reduce, normalise, movement, padding, blocks, sampling),
        recurrent,
        sampling,
    )
    for operator in family.OPERATORS
}
