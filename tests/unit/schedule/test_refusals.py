"""Every condition of a primitive, with a program that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from ago.errors import ScheduleError
from ago.ir.examples import chain, matmul, pad
from ago.ir.index import Index, as_index, var
from ago.ir.nest import Buffer, Stage, leaves, rewrite
from ago.ir.program import Program
from ago.ir.value import Const, Load, Select, Value, add, mul
from ago.ir.workload import workload_key
from ago.schedule.annotate import unroll, vectorize
from ago.schedule.cache_write import cache_write
from ago.schedule.chooser import ReplayChooser
from ago.schedule.collapse import collapse
from ago.schedule.compute_at import compute_at
from ago.schedule.divide_axis import divide_axis
from ago.schedule.fold_storage import fold_storage
from ago.schedule.inline import inline
from ago.schedule.pack import pack
from ago.schedule.peel import partition_loop, peel
from ago.schedule.refusals import REFUSALS
from ago.schedule.reorder import reorder
from ago.schedule.round_axis import round_axis
from ago.schedule.specialize import specialize
from ago.schedule.split import split
from ago.schedule.store_at import store_at
from ago.schedule.trace import Instruction, Schedule, Trace
from ago.schedule.transform_layout import transform_layout
from tests.support.placement_refusals import CASES as PLACEMENT
from tests.support.refused import Case
from tests.support.subgraphs import (
    convolution,
    diamond,
    mirrored,
    stage,
    two_matmuls,
)
from tests.support.window_refusals import CASES as WINDOWS

MATMUL = matmul(4, 6, 5)
RELU = matmul(4, 6, 5, relu=True)
CHAIN = chain(4, 6)
TWO = two_matmuls(2, 3, 4, 5)
CONVOLUTION = convolution(5, 2, 3, 3, 1, 1, 1, 2, pad_stage=True)
KEY = workload_key(MATMUL)


def one_stage(value: Value, *, shape: tuple[int, ...] = (4, 6), **buffer: int) -> Program:
    """`R[i, j] = value`, in the variables R.i and R.j."""
    more = [Buffer(name, (extent,), "constant") for name, extent in buffer.items()]
    made = (Buffer("x", shape, "input"), Buffer("R", (4, 6), "output"), *more)
    return Program.naive("one", made, (stage("R", {"i": 4, "j": 6}, "R", value),))


def guarded(*condition: Index) -> Program:
    """`R[i, j] = v[j]` where the condition holds, else 0."""
    return one_stage(Select(condition, Load("v", (var("R.j"),)), Const(0.0)), v=6)


def scan() -> Program:
    """`S[i, j] = S[i, j - 1] + x[i, j]`, read by `R`."""
    i, j = var("S.i"), var("S.j")
    before = Select((j - 1,), Load("S", (i, j - 1)), Const(0.0))
    first = stage("S", {"i": 4, "j": 6}, "S", add(before, Load("x", (i, j))))
    second = CHAIN.stage("R")
    return Program.naive("scan", CHAIN.buffers, (first, second))


def halves() -> Program:
    """`S` is written by two stages, one for each half, and read by `R`."""
    made = []
    for name, start in (("S", 0), ("T", 3)):
        i, j = var(f"{name}.i"), var(f"{name}.j") + start
        made.append(
            stage(name, {"i": 4, "j": 3}, "S", mul(Const(2.0), Load("x", (i, j))), index=(i, j))
        )
    return Program.naive("halves", CHAIN.buffers, (*made, CHAIN.stage("R")))


def swapped() -> Program:
    """Two statements in one loop, the second of which reads what the first writes elsewhere."""
    program = compute_at(CHAIN, "S", "R.j")

    def drop(stmt):
        return stmt.body if getattr(stmt, "name", "") in {"S.i", "S.j"} else None

    body = rewrite(rewrite(program.body, drop), drop)
    return program.with_body(body)


def packed_operand() -> Program:
    """An element-wise stage whose operand is packed already."""
    program = one_stage(Load("v", (var("R.j"),)), v=6)
    program = pack(program, "v", ["R.j"])
    (leaf,) = leaves(program.body)
    renamed = Stage("R", program.stages[0].axes, "R", leaf.index, leaf.value)
    return Program.naive("packed", program.buffers, (renamed,))


def broken_trace(**change: object) -> Callable[[], Program]:
    return partial(replace(Trace(KEY), **change).replay, MATMUL)


def instruction(name: str, **args: object) -> Callable[[], Program]:
    return broken_trace(instructions=(Instruction(name, tuple(args.items())),))


def decided_twice() -> None:
    schedule = Schedule(MATMUL)
    for _ in range(2):
        schedule.decide("tile", [1, 2])


def negate(program: Program) -> Program:
    """No primitive."""
    return program


AT_I, AT_J = var("R.i"), var("R.j")
SHIFTED = split(split(matmul(5, 7, 3), "C.j", 4, "shift"), "C.i", 3, "shift")
VECTOR = vectorize(RELU, "R.j")

CASES = [
    Case("unknown-loop", partial(split, MATMUL, "C.z", 2)),
    Case("unknown-loop", partial(split, MATMUL, None, 2)),
    Case("unknown-loop", partial(split, split(MATMUL, "C.j", 2), "C.j", 2)),
    Case("unknown-loop", partial(reorder, MATMUL, ["C.i", "C.z"])),
    Case("unknown-loop", partial(reorder, MATMUL, "C.i")),
    Case("unknown-loop", partial(reorder, MATMUL, None)),
    Case("unknown-loop", partial(pack, MATMUL, "B", [["C.j"]])),
    Case("unknown-loop", partial(compute_at, RELU, "C", "R.z")),
    Case("unknown-loop", partial(store_at, RELU, "C", "R.z")),
    Case("unknown-loop", partial(unroll, MATMUL, "C.z")),
    Case("unknown-loop", partial(vectorize, MATMUL, "C.z")),
    Case("unknown-loop", partial(peel, MATMUL, "C.z")),
    Case("unknown-loop", partial(partition_loop, MATMUL, "C.z", 0, 1)),
    Case("unknown-loop", partial(specialize, MATMUL, "C.z")),
    Case("unknown-loop", partial(pack, MATMUL, "B", ["C.j", "C.k", "C.z"])),
    Case("unknown-stage", partial(compute_at, RELU, "Z", "R.i")),
    Case("unknown-stage", partial(inline, CHAIN, "Z")),
    Case("unknown-stage", partial(cache_write, MATMUL, "Z")),
    Case("unknown-stage", partial(collapse, CHAIN, "Z", "i", "j")),
    Case("unknown-stage", partial(round_axis, CHAIN, "Z", "j", 8)),
    Case("unknown-axis", partial(round_axis, CHAIN, "R", "z", 8)),
    Case("unknown-buffer", partial(store_at, RELU, "Z", "R.i")),
    Case("unknown-buffer", partial(pack, MATMUL, "Z", ["C.j"])),
    Case("not-serial", partial(split, unroll(MATMUL, "C.j"), "C.j", 2), "C.j"),
    Case("not-serial", partial(unroll, unroll(MATMUL, "C.j"), "C.j"), "C.j"),
    Case("not-serial", partial(vectorize, unroll(CHAIN, "R.j"), "R.j"), "R.j"),
    Case("not-serial", partial(partition_loop, unroll(MATMUL, "C.j"), "C.j", 1, 2), "C.j"),
    Case("not-serial", partial(peel, unroll(pad(4, 1), "P.x"), "P.x"), "P.x"),
    Case(
        "extent-not-constant",
        partial(split, split(MATMUL, "C.j", 4, "guard"), "C.j.1", 2),
        "C.j.1",
    ),
    Case(
        "extent-not-constant",
        partial(partition_loop, split(MATMUL, "C.j", 4, "guard"), "C.j.1", 0, 1),
        "C.j.1",
    ),
    Case("extent-not-constant", partial(peel, split(pad(5, 1), "P.x", 4, "guard"), "P.x.1")),
    Case("bad-factor", partial(split, MATMUL, "C.j", 0), "C.j"),
    Case("bad-factor", partial(split, MATMUL, "C.j", "2"), "C.j"),
    Case("bad-factor", partial(split, MATMUL, "C.j", True), "C.j"),
    Case("bad-factor", partial(round_axis, CHAIN, "R", "j", 0)),
    Case("bad-factor", partial(round_axis, CHAIN, "R", "j", 2.0)),
    Case("unknown-tail", partial(split, MATMUL, "C.j", 2, "mask"), "C.j"),
    Case("split-not-exact", partial(split, MATMUL, "C.j", 4), "C.j"),
    Case("split-not-exact", partial(split, MATMUL, "C.j", 7), "C.j"),
    Case("shift-reduces", partial(split, MATMUL, "C.k", 2, "shift"), "C.k"),
    Case(
        "shift-reduces",
        partial(split, reorder(MATMUL, ["C.k", "C.j"]), "C.j", 4, "shift"),
        "C.j",
    ),
    Case("shift-in-place", partial(split, scan(), "S.j", 4, "shift"), "S.j"),
    Case("not-nested", partial(reorder, compute_at(RELU, "C", "R.i"), ["R.i", "R.j"]), "R.j"),
    Case("not-nested", partial(reorder, RELU, ["C.i", "R.i"]), "R.i"),
    Case(
        "reorder-accumulates",
        partial(reorder, SHIFTED, ["C.k", "C.i.0", "C.i.1", "C.j.0", "C.j.1"]),
        "C.i.0",
    ),
    Case("reorder-accumulates", partial(reorder, SHIFTED, ["C.k", "C.j.0", "C.j.1"]), "C.j.0"),
    Case("in-place", partial(reorder, scan(), ["S.j", "S.i"]), "S.j"),
    Case("in-place", partial(compute_at, scan(), "S", "R.i")),
    Case("in-place", partial(inline, scan(), "S")),
    Case("in-place", partial(round_axis, scan(), "R", "j", 4)),
    Case(
        "bounds-depend",
        partial(reorder, split(MATMUL, "C.j", 4, "guard"), ["C.j.1", "C.j.0"]),
        "C.j.1",
    ),
    Case(
        "bounds-depend",
        partial(reorder, split(matmul(4, 7, 3), "C.j", 4, "balance"), ["C.j.1", "C.j.0"]),
        "C.j.1",
    ),
    Case("repeated-loop", partial(reorder, MATMUL, ["C.i", "C.i"])),
    Case("repeated-loop", partial(pack, MATMUL, "B", ["C.j", "C.k", "C.j"])),
    Case("not-innermost", partial(vectorize, MATMUL, "C.j"), "C.j"),
    Case("not-innermost", partial(reorder, VECTOR, ["R.j", "R.i"]), "R.j"),
    Case("vector-reduces", partial(vectorize, MATMUL, "C.k"), "C.k"),
    Case("vector-flow", partial(vectorize, scan(), "S.j"), "S.j"),
    Case("vector-flow", partial(vectorize, swapped(), "R.j"), "R.j"),
    Case("inside-vector", partial(compute_at, VECTOR, "C", "R.j"), "R.j"),
    Case("many-writers", partial(compute_at, halves(), "S", "R.i")),
    Case("many-writers", partial(inline, halves(), "T")),
    Case("many-writers", partial(round_axis, halves(), "R", "j", 4)),
    Case("stage-scheduled", partial(compute_at, split(RELU, "C.j", 2), "C", "R.i")),
    Case("stage-scheduled", partial(inline, split(CHAIN, "S.j", 2), "S")),
    Case("stage-scheduled", partial(cache_write, split(MATMUL, "C.j", 2), "C")),
    Case("stage-scheduled", partial(collapse, split(CHAIN, "S.j", 2), "S", "i", "j")),
    Case("stage-scheduled", partial(round_axis, split(CHAIN, "S.j", 2), "S", "j", 4)),
    Case("not-elementwise", partial(inline, RELU, "C")),
    Case("not-elementwise", partial(inline, mirrored(3), "R")),
    Case("stage-is-output", partial(inline, CHAIN, "R")),
    Case("stage-is-output", partial(compute_at, diamond(2, 3), "B", "R.i")),
    Case("not-consumer-loop", partial(compute_at, diamond(2, 3), "S", "A.i"), "A.i"),
    Case("not-consumer-loop", partial(compute_at, TWO, "C", "D.i"), "D.i"),
    Case("not-consumer-loop", partial(compute_at, TWO, "H", "D.j"), "D.j"),
    Case("no-region", partial(compute_at, mirrored(3), "R", "T.i")),
    Case("order", partial(compute_at, RELU, "C", "C.i"), "C.i"),
    Case("order", partial(compute_at, TWO, "R", "C.i"), "C.i"),
    Case("not-intermediate", partial(store_at, RELU, "A", "C.i")),
    Case("used-outside", partial(store_at, RELU, "C", "R.i"), "R.i"),
    Case("used-outside", partial(store_at, RELU, "C", "C.i"), "C.i"),
    Case("used-outside", partial(store_at, compute_at(TWO, "H", "D.q"), "H", "D.j"), "D.j"),
    Case("used-outside", partial(store_at, TWO, "H", "C.i"), "C.i"),
    Case("bad-scope", partial(store_at, compute_at(RELU, "C", "R.i"), "C", "R.i", "output")),
    Case("no-reduction", partial(cache_write, CHAIN, "R")),
    Case("not-constant", partial(pack, MATMUL, "A", ["C.i", "C.k"])),
    Case("many-accesses", partial(pack, one_stage(Const(1.0), v=6), "v", [])),
    Case(
        "many-accesses",
        partial(
            pack, one_stage(add(Load("v", (AT_J,)), Load("v", (5 - AT_J,))), v=6), "v", ["R.j"]
        ),
    ),
    Case("not-around", partial(pack, RELU, "B", ["C.k", "C.j", "R.i"]), "R.i"),
    Case("not-around", partial(pack, CONVOLUTION, "b", ["K.g", "K.o", "K.ky"]), "K.ky"),
    Case("free-variable", partial(pack, MATMUL, "B", ["C.k"]), "C.j"),
    Case("free-variable", partial(pack, peel(guarded(AT_J - 1), "R.j"), "v", ["R.j"]), "R.j"),
    Case("cannot-round", partial(round_axis, MATMUL, "C", "k", 4), "C.k"),
    Case("cannot-round", partial(round_axis, CONVOLUTION, "R", "y", 4), "K.y"),
    Case("cannot-round", partial(round_axis, CONVOLUTION, "R", "c", 4), "R.c"),
    Case(
        "cannot-round",
        partial(round_axis, one_stage(Load("x", (AT_I, AT_J // 2)), shape=(4, 3)), "R", "j", 4),
        "R.j",
    ),
    Case("unknown-stage", partial(divide_axis, CHAIN, "Z", "j", 2)),
    Case("unknown-axis", partial(divide_axis, CHAIN, "R", "z", 2)),
    Case("stage-scheduled", partial(divide_axis, split(CHAIN, "R.j", 2), "R", "i", 2)),
    Case("divides-reduction", partial(divide_axis, MATMUL, "C", "j", 2)),
    Case("split-not-exact", partial(divide_axis, CHAIN, "R", "j", 4)),
    Case("split-not-exact", partial(divide_axis, CHAIN, "R", "j", 0)),
    Case("bad-place", partial(divide_axis, CHAIN, "R", "j", 2, 2)),
    Case("in-place", partial(divide_axis, scan(), "S", "j", 2)),
    Case("cannot-collapse", partial(collapse, CHAIN, "R", "j", "i")),
    Case("cannot-collapse", partial(collapse, CHAIN, "R", "i", "z")),
    Case("cannot-collapse", partial(collapse, RELU, "R", "i", "j")),
    Case("cannot-collapse", partial(collapse, MATMUL, "C", "j", "k")),
    Case("cannot-collapse", partial(collapse, mirrored(3), "T", "i", "j")),
    Case("cannot-collapse", partial(collapse, pad(4, 1), "P", "y", "x")),
    Case("cannot-collapse", partial(collapse, packed_operand(), "R", "i", "j")),
    Case(
        "cannot-collapse",
        partial(collapse, one_stage(Select((AT_I - 1,), Const(1.0), Const(0.0))), "R", "i", "j"),
    ),
    Case(
        "cannot-collapse",
        partial(collapse, one_stage(Load("x", (AT_I, as_index(0)))), "R", "i", "j"),
    ),
    Case("no-guard", partial(peel, MATMUL, "C.j"), "C.j"),
    Case("no-guard", partial(specialize, MATMUL, "C.j"), "C.j"),
    Case("bad-range", partial(partition_loop, MATMUL, "C.j", 3, 3), "C.j"),
    Case("bad-range", partial(partition_loop, MATMUL, "C.j", 3, 7), "C.j"),
    Case("bad-range", partial(peel, guarded(AT_J - 4, 2 - AT_J), "R.j"), "R.j"),
    Case("cut-reduces", partial(partition_loop, MATMUL, "C.k", 0, 4), "C.k"),
    Case("trace-version", broken_trace(version=0)),
    Case("trace-version", partial(Trace.from_json, '{"version": 0}')),
    Case("trace-version", partial(Trace.from_json, "[1, 2]")),
    Case("trace-version", partial(Trace.from_json, "no json")),
    Case("trace-workload", broken_trace(workload="0" * 16)),
    Case("unknown-primitive", instruction("transpose", loop="C.j")),
    Case("unknown-primitive", Trace(KEY, (Instruction("transpose", ()),)).to_python),
    Case("unknown-primitive", partial(Schedule(MATMUL).apply, negate)),
    Case("bad-instruction", instruction("split", loop="C.j")),
    Case("bad-instruction", instruction("split", loop="C.j", factor="2")),
    Case("bad-instruction", instruction("split", loop="C.j", factor=2, tails="exact")),
    Case("bad-instruction", instruction("reorder", loops="C.j")),
    Case("repeated-decision", decided_twice),
    Case("missing-decision", partial(ReplayChooser({"a": 1}).choose, "b", [1, 2])),
    Case("outside-domain", partial(ReplayChooser({"a": 3}).choose, "a", [1, 2])),
]


ALL = [*CASES, *PLACEMENT, *WINDOWS]


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{c.code}-{n}") for n, c in enumerate(ALL)])
def test_refused_with_its_code(case: Case) -> None:
    with pytest.raises(ScheduleError) as caught:
        case.refused()
    assert caught.value.code == case.code
    text = str(caught.value)
    assert text.startswith(f"[{case.code}] ")
    assert f"rule: {REFUSALS[case.code]}" in text
    if case.mark is not None:
        (marked,) = (line for line in text.splitlines() if "<---" in line)
        assert marked.endswith(f"<--- {case.mark}")


def test_every_code_is_covered() -> None:
    assert {case.code for case in ALL} == set(REFUSALS)


def test_hint_of_a_retired_loop_names_its_parts() -> None:
    with pytest.raises(ScheduleError) as caught:
        split(split(MATMUL, "C.j", 2), "C.j", 2)
    assert caught.value.hint == "C.j was split; it is now C.j.0, C.j.1"


def test_hint_of_an_inexact_split_names_the_other_tails() -> None:
    with pytest.raises(ScheduleError) as caught:
        split(MATMUL, "C.j", 4)
    assert caught.value.hint == (
        "use a divisor of 6, or another tail: guard, masked, shift, balance"
    )


def test_the_whole_text_of_a_refusal() -> None:
    with pytest.raises(ScheduleError) as caught:
        vectorize(matmul(2, 3, 4), "C.k")
    assert (
        str(caught.value)
        == """\
[vector-reduces] C.k is a reduce loop of C
  rule: a vectorised loop must not be a reduction's
  hint: vectorise a spatial loop
for i, j in grid(2, 3):
    C[i, j] = 0.0
    for k in range(4):  # <--- C.k
        C[i, j] += A[i, k] * B[k, j]
"""
    )


@pytest.mark.parametrize(
    ("primitive", "args", "code"),
    [
        (fold_storage, ("C", None, "R.i"), "unknown-buffer"),
        (fold_storage, ("C", "0", "R.i"), "unknown-buffer"),
        (partition_loop, ("R.i", None, 2), "bad-range"),
        (partition_loop, ("R.i", 0, "2"), "bad-range"),
        (partition_loop, ("R.i", 0, 2.0), "bad-range"),
        (transform_layout, ("C", None), "bad-layout"),
        (transform_layout, ("C", ["i", "j"]), "bad-layout"),
    ],
)
def test_arguments_of_other_types_are_refused_by_name(primitive, args, code) -> None:
    with pytest.raises(ScheduleError) as caught:
        primitive(RELU, *args)
    assert caught.value.code == code
