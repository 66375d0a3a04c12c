"""Programs that cannot be emitted, and what the error says."""

from dataclasses import replace

import pytest

from ago.backend_x86.avx2 import AVX2
from ago.codegen.emit import emit_function
from ago.errors import CodegenError
from ago.ir.index import Index, minimum, var
from ago.ir.nest import Buffer, If, Store
from ago.ir.program import Program
from ago.ir.value import Const, Load
from ago.target import TARGETS
from tests.support.compiled import emit
from tests.support.kernels import loop

ROW, COLUMN = var("i"), var("j")


def program(*body, register=(8,), **changes) -> Program:
    buffers = (
        Buffer("x", (8, 8), "input"),
        Buffer("acc", register, "register"),
        Buffer("out", (8, 8), "output"),
    )
    return replace(Program("p", buffers, (), tuple(body)), **changes)


def refuses(made: Program, *words: str) -> None:
    with pytest.raises(CodegenError) as caught:
        emit(made, "x86-64-v3")
    for word in words:
        assert word in str(caught.value)


def test_register_indexed_by_a_serial_loop():
    leaf = Store("s", "acc", (ROW,), Const(0.0))
    refuses(program(loop("i", 8, "serial", leaf)), "acc", "indexed by i")


def test_register_accessed_as_vector_and_scalar():
    vector = loop("i", 8, "vector", Store("s", "acc", (ROW,), Const(0.0)))
    scalar = Store("s", "out", (Index(), Index()), Load("acc", (Index((), 3),)))
    refuses(program(vector, scalar), "acc", "as vectors and as scalars")


def test_vector_that_starts_inside_a_register():
    leaf = Store("s", "acc", (ROW + 4,), Const(0.0))
    refuses(program(loop("i", 8, "vector", leaf), register=(12,)), "acc", "element 4")


def test_loop_inside_a_vector_loop():
    leaf = Store("s", "out", (ROW, COLUMN), Const(0.0))
    nest = loop("j", 8, "vector", loop("i", 8, "serial", leaf))
    refuses(program(nest), "vector loop j contains another loop")


def test_extent_that_no_cut_makes_constant():
    leaf = Store("s", "out", (ROW, COLUMN), Const(0.0))
    inner = loop("j", minimum(8, ROW * -1 + var("k")), "unrolled", leaf)
    nest = loop("k", 70, "serial", loop("i", 70, "serial", inner))
    refuses(program(nest), "unrolled loop j", "min(")


def test_lane_mask_that_is_no_prefix():
    leaf = Store("s", "out", (Index(), COLUMN), Const(0.0))
    refuses(program(loop("j", 8, "vector", If((COLUMN - 3,), (leaf,)))), "vector loop j", "lanes")


def test_stack_buffer_that_is_too_large():
    made = program(Store("s", "out", (Index(), Index()), Const(0.0)))
    refuses(made.with_buffer(Buffer("tile", (64, 65), "stack")), "16640 bytes", "workspace")


def test_unknown_dtype():
    made = program(Store("s", "out", (Index(), Index()), Const(0.0)))
    refuses(made.with_buffer(Buffer("q", (4,), "input", "f16")), "q", "f16")


def test_table_of_another_instruction_set():
    made = program(Store("s", "out", (Index(), Index()), Const(0.0)))
    with pytest.raises(CodegenError, match="neon"):
        emit_function(made, TARGETS["cortex-a76"], AVX2)
