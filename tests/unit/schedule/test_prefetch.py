"""`prefetch`: a hint inside the program's memory, without effect."""

from __future__ import annotations

import numpy as np
import pytest

from ago.errors import IRError
from ago.ir.examples import depthwise, matmul, pad
from ago.ir.index import var
from ago.ir.interpreter import interpret
from ago.ir.nest import For, Prefetch, walk
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.schedule.annotate import unroll
from ago.schedule.compute_at import compute_at
from ago.schedule.parallel import parallel
from ago.schedule.prefetch import prefetch
from ago.schedule.split import split
from ago.schedule.store_at import store_at
from ago.schedule.transform_layout import transform_layout
from tests.support.compiled import HOST_TARGETS, emit, run_compiled
from tests.support.programs import integers
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import convolution


def hints(program: Program) -> list[str]:
    return [
        f"{stmt.buffer}[{', '.join(map(str, stmt.index))}]"
        for stmt in walk(program.body)
        if isinstance(stmt, Prefetch)
    ]


def test_text() -> None:
    assert (
        text(prefetch(matmul(2, 3, 4), "B", "C.k", 2))
        == """\
for i, j in grid(2, 3):
    C[i, j] = 0.0
    for k in range(4):
        ir_prefetch(B[min(3, k + 2), j])
        C[i, j] += A[i, k] * B[k, j]"""
    )


@pytest.mark.parametrize(
    ("buffer", "loop", "element"),
    [
        ("A", "C.i", "A[min(3, C.i + 2), 0]"),
        ("A", "C.k", "A[C.i, min(4, C.k + 2)]"),
        ("B", "C.j", "B[0, min(5, C.j + 2)]"),
    ],
)
def test_first_element_of_a_later_iteration(buffer: str, loop: str, element: str) -> None:
    program = matmul(4, 6, 5)
    after = prefetch(program, buffer, loop, 2)
    assert hints(after) == [element]
    verify(after)
    assert_keeps(program, after)


def test_border_is_not_asked_for() -> None:
    program = pad(4, 1)
    after = prefetch(program, "X", "P.y", 1)
    assert hints(after) == ["X[min(3, min(5, P.y + 1) - 1), 0]"]
    verify(after)
    assert_keeps(program, after)


@pytest.mark.parametrize("loop", ["K.y", "K.x", "K.ky", "K.c"])
def test_windows(loop: str) -> None:
    program = convolution(5, 2, 3, 3, 2, 1, 1, 1, pad_stage=False)
    after = prefetch(program, "X", loop, 1)
    verify(after)
    assert_keeps(program, after)


def test_other_primitives_carry_it_along() -> None:
    program = matmul(4, 6, 5, relu=True)
    after = prefetch(compute_at(program, "C", "R.i"), "B", "C.k", 1)
    after = store_at(after, "C", "R.i", "stack")
    after = split(unroll(split(after, "C.k", 2, "guard"), "C.k.1"), "C.j", 4, "shift")
    after = parallel(transform_layout(after, "C", "i j -> j i"), "R.i")
    assert len(hints(after)) == 1
    verify(after)
    assert_keeps(program, after)


def test_verify_finds_one_outside() -> None:
    program = prefetch(matmul(4, 6, 5), "B", "C.k", 1)
    outside = Prefetch("B", (var("C.k") + 1, var("C.j")))

    def change(body):
        made = []
        for stmt in body:
            if isinstance(stmt, For):
                stmt = For(stmt.name, stmt.lo, stmt.hi, stmt.kind, change(stmt.body))
            made.append(outside if isinstance(stmt, Prefetch) else stmt)
        return tuple(made)

    broken = program.with_body(change(program.body))
    with pytest.raises(IRError, match="prefetch of B"):
        verify(broken)
    with pytest.raises(IRError, match="out-of-bounds"):
        interpret(broken, integers(broken), "checked")


@pytest.mark.parametrize("target", HOST_TARGETS)
def test_compiled(target: str) -> None:
    program = prefetch(prefetch(depthwise(4, 3, 2, 2), "X", "D.y", 1), "W", "D.ky", 1)
    program = unroll(program, "D.ky")
    assert emit(program, target).text.count("__builtin_prefetch(") == 3
    arrays = integers(program)
    (found,) = run_compiled([(program, arrays)], target)
    np.testing.assert_array_equal(found, interpret(program, arrays)["D"])
