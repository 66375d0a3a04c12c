"""`print` on the values that flow through the compiler: short, stable, no addresses."""

from __future__ import annotations

import numpy as np
import pytest

import ago
from ago.ir.examples import matmul
from ago.ir.index import var
from ago.ir.nest import If, Prefetch, Update, walk
from ago.ir.value import Const, Load, Position, Select
from ago.options import Options
from ago.pipeline import Compilation, compile_graph
from ago.schedule.annotate import vectorize
from ago.schedule.trace import Schedule
from ago.target import TARGETS

ROW, COLUMN = var("C.i"), var("C.j")


def graph() -> ago.Graph:
    """A convolution with a clamp."""
    b = ago.GraphBuilder("one")
    x = b.input("x", (1, 4, 5, 5))
    return b.build(b.relu(b.conv(x, np.ones((8, 4, 3, 3), np.float32), pads=1)))


def compiled() -> Compilation:
    return compile_graph(graph(), Options(TARGETS["cortex-a76"]))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Const(2.0), "2.0"),
        (Load("A", (ROW, COLUMN + 1)), "A[C.i, C.j + 1]"),
        (Position(ROW), "position(C.i)"),
        (
            Select((ROW - 1, COLUMN), Const(1.0), Const(0.0)),
            "select(C.i - 1 >= 0 and C.j >= 0, 1.0, 0.0)",
        ),
        (Prefetch("B", (ROW,)), "prefetch B[C.i]"),
        (Update("C", "C", (ROW,), "add", Const(1.0)), "C[C.i] = add(C[C.i], 1.0)"),
        (If((ROW - 1,), ()), "if C.i - 1 >= 0: 0 statements"),
        (matmul(2, 3, 4).buffers[0], "input A: f32[2, 4]"),
        (
            matmul(2, 3, 4).stages[0],
            "stage C over i: 2, j: 3, k: 4 reduce: C[C.i, C.j] = add of "
            "mul(A[C.i, C.k], B[C.k, C.j]) over C.k, from 0.0",
        ),
        (
            vectorize(matmul(2, 3, 4, relu=True), "R.j").body[1],
            "for R.i in [0, 2): vector for R.j in [0, 3): R[R.i, R.j] = max(0.0, C[R.i, R.j])",
        ),
    ],
)
def test_parts_of_a_program(value: object, text: str) -> None:
    assert str(value) == text


def test_values_of_a_compilation() -> None:
    first, second = compiled(), compiled()
    for values in zip(*map(_values, (first, second)), strict=True):
        texts = [str(value) for value in values]
        name = type(values[0]).__name__
        assert texts[0] == texts[1], name
        assert " object at " not in texts[0], name
        assert " at 0x" not in texts[0], name
        assert 0 < max(map(len, texts[0].splitlines())) < 500, name


def _values(compilation: Compilation) -> list[object]:
    (kernel, *_) = compilation.kernels
    schedule = Schedule(kernel.lowered.program)
    schedule.decide("conv/tile", [(4, 2), (2, 2)])
    (choice,) = schedule.choices
    program = kernel.scheduled
    return [
        *(compilation, compilation.graph, compilation.partition, compilation.artifact),
        *(kernel, kernel.subgraph, kernel.lowered, kernel.trace, kernel.function),
        *(program, *program.stages, *program.buffers, *walk(program.body)),
        *(choice, choice.domain, *kernel.trace.instructions),
        *(kernel.plans, kernel.fusion.taken.plan),
        *(Options(TARGETS["cortex-a76"]), TARGETS["cortex-a76"]),
        *compilation.graph.nodes,
        *(node.type for node in compilation.graph.nodes),
    ]
