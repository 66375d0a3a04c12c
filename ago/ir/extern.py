"""A stage that is no loop nest: a call of a C function that ships with AGO.

Read `Extern` first. Invariant: it stands alone in its program, reads its inputs whole and writes
its outputs whole, all dense and row-major; its meaning is the reference of its operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

CValue: TypeAlias = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
"""A constant in C: a number, the name of one, or an array of either."""


@dataclass(frozen=True, slots=True)
class CFunction:
    """A function of `csrc/extern` with its constant arguments.

    It takes a pointer to its constants, then the arrays it reads, those it writes, and scratch.

    Attributes:
        name: Its C identifier.
        file: Name, without ending, of the header that declares it and the C file that defines it.
        struct: C type of the constants.
        constants: The members of `struct` and their values.
    """

    name: str
    file: str
    struct: str
    constants: Mapping[str, CValue]


@dataclass(frozen=True, slots=True)
class Extern:
    """One operator that a C function computes.

    Attributes:
        name: Of the stage.
        op: The operator, a key of `ago.ir.ops.OPERATORS`; its reference is what the call means.
        attrs: The operator's attributes.
        inputs: Buffers it reads, in the operator's order; `""` is an absent optional one.
        outputs: Buffers it writes, one for each of the operator's results.
        scratch: Workspace buffers for its own use.
        function: What is called.
        origin: Name of the graph node it came from, for comments and errors.
    """

    name: str
    op: str
    attrs: Mapping[str, object]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    scratch: tuple[str, ...]
    function: CFunction
    origin: str = ""
