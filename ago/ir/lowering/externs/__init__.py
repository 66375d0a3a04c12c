"""How operators that are no loop nests become calls of C functions.

Read `EXTERNS` first. Each function chooses the C function of `csrc/extern` and its constants.
"""

from collections.abc import Callable, Mapping

from ago.ir.graph import Node
from ago.ir.lowering.context import Lowering
from ago.ir.lowering.externs import (
    folds,
    indexing,
    recurrent,
    regions,
    sampling,
    selection,
    sequences,
)

__all__ = ["EXTERNS"]

EXTERNS: Mapping[str, Callable[[Node, Lowering], None]] = {
    **folds.EXTERNS,
    **indexing.EXTERNS,
    **recurrent.EXTERNS,
    **regions.EXTERNS,
    **sampling.EXTERNS,
    **selection.EXTERNS,
    **sequences.EXTERNS,
}
