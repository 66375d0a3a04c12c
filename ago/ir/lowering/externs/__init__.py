"""How operators that are no loop nests become calls of C functions.

Read `EXTERNS` first. Each function chooses the C function of `csrc/extern` and its constants.
"""

from collections.abc import Callable, Mapping

from ago.ir.graph import Node
from ago.ir.lowering.context import Lowering
from ago.ir.lowering.externs import recurrent, sampling

__all__ = ["EXTERNS"]

EXTERNS: Mapping[str, Callable[[Node, Lowering], None]] = {
    **recurrent.EXTERNS,
    **sampling.EXTERNS,
}
