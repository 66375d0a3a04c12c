"""A naive program's source makes the program again."""

import pytest

from ago.ir.examples import matmul, pad, smooth
from ago.ir.extern import CFunction, Extern
from ago.ir.index import lookup, maximum, minimum, var
from ago.ir.nest import Axis, Buffer, Stage
from ago.ir.program import Program
from ago.ir.source import program_source
from ago.ir.value import Call, Const, Load, Select
from tests.support.programs import convolution, max_pool


def odd() -> Program:
    """Every kind of index, infinite constants, a guard, names that are no identifiers."""
    i, j = var("s/1.i"), var("s/1.j")
    at = (
        maximum(minimum(i, j * -2 + 5), (i * 3 + j - 1) // 4)
        + (i + j * 2) % 3
        + lookup((0, 2, 1, 0), j)
    )
    value = Select((3 - i, j - 1), Load("x-y", (at, -i + 4)), Const(float("-inf")))
    total = Call("max", (value, Const(float("nan"))))
    stage = Stage("s/1", (Axis("i", 3), Axis("j", 4)), "out", (i, j), total, guard=(i + j,))
    return Program.naive(
        "odd", (Buffer("x-y", (9, 9), "input"), Buffer("out", (3, 4), "output", "f16")), (stage,)
    )


def external() -> Program:
    """A call of a C function, with constants and attributes of all kinds."""
    function = CFunction("ago_topk", "topk", "struct topk", {"axis": 1, "sizes": (2, 3)})
    call = Extern("top", "TopK", {"axis": 1, "sorted": True}, ("x",), ("y",), (), function, "/t")
    buffers = (Buffer("x", (2, 3), "input"), Buffer("y", (2, 3), "output"))
    return Program("external", buffers, (), (), call)


@pytest.mark.parametrize(
    "program",
    [
        matmul(2, 3, 4, relu=True),
        pad(4, 1),
        smooth(5, 3),
        convolution(5, 3, 5, 3, 2).program,
        max_pool(4, 2, 2).program,
        odd(),
        external(),
    ],
    ids=lambda program: program.name,
)
def test_the_same_program(program: Program) -> None:
    imports, lines = program_source(program, "made")
    scope: dict[str, object] = {}
    exec("\n".join([*imports, *lines]), scope)
    assert repr(scope["made"]()) == repr(program)  # NaN is unequal to itself
