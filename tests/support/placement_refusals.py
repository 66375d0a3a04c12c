"""Conditions of the primitives that move, copy and regroup, each with a program that breaks it."""

from __future__ import annotations

from functools import partial

from ago.ir.examples import chain, fork, matmul, smooth
from ago.ir.index import var
from ago.ir.program import Program
from ago.ir.value import Const, Load, Select, add, mul
from ago.schedule.annotate import unroll, vectorize
from ago.schedule.cache_read import cache_read
from ago.schedule.compute_at import compute_at
from ago.schedule.compute_with import compute_with
from ago.schedule.decompose_reduction import decompose_reduction
from ago.schedule.fuse_axes import fuse_axes
from ago.schedule.parallel import parallel
from ago.schedule.peel import partition_loop
from ago.schedule.prefetch import prefetch
from ago.schedule.reorder import reorder
from ago.schedule.reverse_compute_at import reverse_compute_at
from ago.schedule.rfactor import rfactor
from ago.schedule.set_scope import set_scope
from ago.schedule.slide import slide
from ago.schedule.split import split
from ago.schedule.stage_mem import stage_mem
from ago.schedule.store_at import store_at
from ago.schedule.transform_layout import transform_layout
from tests.support.refused import Case
from tests.support.subgraphs import (
    buffers,
    convolution,
    diamond,
    pool,
    stage,
    two_matmuls,
)

MATMUL = matmul(4, 6, 5)
RELU = matmul(4, 6, 5, relu=True)
CHAIN = chain(4, 6)
TWO = two_matmuls(2, 3, 4, 5)
POOL = pool(5, 2, 3, 1)
CONVOLUTION = convolution(5, 2, 3, 3, 1, 1, 1, 2, pad_stage=True)
FUSED = compute_at(RELU, "C", "R.i")
WINDOWS = compute_at(POOL, "E", "M.y")
FORK = fork(4, 6)
VECTOR_FORK = vectorize(FORK, "R.j")
VECTOR = vectorize(RELU, "R.j")
LANES = vectorize(reorder(MATMUL, ["C.k", "C.j"]), "C.j")
PARTIAL = decompose_reduction(MATMUL, "C", "C.k")
OVERLAPPING = split(matmul(5, 6, 3), "C.i", 3, "shift")


def scan() -> Program:
    """`S[i, j] = S[i, j - 1] + x[i, j]`, read by `R`."""
    i, j = var("S.i"), var("S.j")
    before = Select((j - 1,), Load("S", (i, j - 1)), Const(0.0))
    first = stage("S", {"i": 4, "j": 6}, "S", add(before, Load("x", (i, j))))
    return Program.naive("scan", CHAIN.buffers, (first, CHAIN.stage("R")))


def sparse() -> Program:
    """`S[2 * i] = x[i]`, read by `R` there; every other element of `S` has no value."""
    first = stage("S", {"i": 3}, "S", Load("x", (var("S.i"),)), index=(var("S.i") * 2,))
    second = stage("R", {"i": 3}, "R", Load("S", (var("R.i") * 2,)))
    made = buffers(x=("input", (3,)), R=("output", (3,)), S=("workspace", (5,)))
    return Program.naive("sparse", made, (first, second))


def spread() -> Program:
    """`S[i, 2 * j] = x[i, j]`, of which `R` reads every element, also those without a value."""
    i, j = var("S.i"), var("S.j")
    first = stage("S", {"i": 2, "j": 3}, "S", Load("x", (i, j)), index=(i, j * 2))
    second = stage("R", {"i": 2, "j": 5}, "R", Load("S", (var("R.i"), var("R.j"))))
    made = buffers(x=("input", (2, 3)), R=("output", (2, 5)), S=("workspace", (2, 5)))
    return Program.naive("spread", made, (first, second))


def diagonal() -> Program:
    """`R[i, j] = S[i + j]`, each element of `S` computed where it is read."""
    first = stage("S", {"i": 8}, "S", Load("x", (var("S.i"),)))
    second = stage("R", {"i": 3, "j": 4}, "R", Load("S", (var("R.i") + var("R.j"),)))
    made = buffers(x=("input", (8,)), R=("output", (3, 4)), S=("workspace", (8,)))
    return compute_at(Program.naive("diagonal", made, (first, second)), "S", "R.j")


def cropped() -> Program:
    """`R` reads `S` where it is inside a border, point by point, and is 0 elsewhere."""
    at = (var("R.i"), var("R.j"))
    inside = Select((at[1] - 1,), Load("S", at), Const(0.0))
    return Program.naive(
        "cropped", CHAIN.buffers, (CHAIN.stage("S"), stage("R", {"i": 4, "j": 6}, "R", inside))
    )


def differences() -> Program:
    """A reduction by sub, which cannot be regrouped."""
    made = stage(
        "C",
        {"i": 3, "k": 4},
        "C",
        Load("x", (var("C.i"), var("C.k"))),
        function="sub",
        init=Const(0.0),
        reduce=("k",),
    )
    shapes = buffers(x=("input", (3, 4)), C=("output", (3,)))
    return Program.naive("differences", shapes, (made,))


def into_itself() -> Program:
    """A reduction that reads the buffer it writes."""
    value = add(Load("x", (var("C.i"), var("C.k"))), Load("C", (var("C.i"),)))
    made = stage("C", {"i": 3, "k": 4}, "C", value, function="add", init=Const(0.0), reduce=("k",))
    shapes = buffers(x=("input", (3, 4)), C=("output", (3,)))
    return Program.naive("into_itself", shapes, (made,))


def halves() -> Program:
    """`S` is written by two stages, one for each half, and read by `R`."""
    made = []
    for name, start in (("S", 0), ("T", 3)):
        i, j = var(f"{name}.i"), var(f"{name}.j") + start
        made.append(
            stage(name, {"i": 4, "j": 3}, "S", mul(Const(2.0), Load("x", (i, j))), index=(i, j))
        )
    return Program.naive("halves", CHAIN.buffers, (*made, CHAIN.stage("R")))


def overwritten() -> Program:
    """`S` reads `A` upside down before `T` stores something else there, which `R` reads."""
    i, j = var("S.i"), var("S.j")
    at_a, at_t, at_r = ((var(f"{name}.i"), var(f"{name}.j")) for name in "ATR")
    axes = {"i": 4, "j": 6}
    stages = (
        stage("A", axes, "A", Load("x", at_a)),
        stage("S", axes, "S", Load("A", (3 - i, j))),
        stage("T", axes, "A", mul(Const(2.0), Load("x", at_t))),
        stage("R", axes, "R", Load("A", at_r)),
    )
    shape = (4, 6)
    scopes = {"x": "input", "S": "output", "R": "output", "A": "workspace"}
    made = buffers(**{name: (scope, shape) for name, scope in scopes.items()})
    return Program.naive("overwritten", made, stages)


def sliding() -> Program:
    """Each row of `S` reads rows of `P` that the rows before have computed."""
    program = compute_at(smooth(8, 4), "P", "S.y")
    return set_scope(slide(program, "P", "y", "S.y"), "P", "stack")


CASES = [
    Case("unknown-loop", partial(parallel, MATMUL, "C.z")),
    Case("unknown-loop", partial(fuse_axes, MATMUL, "C.i", "C.z")),
    Case("unknown-loop", partial(reverse_compute_at, RELU, "R", "C.z")),
    Case("unknown-loop", partial(decompose_reduction, MATMUL, "C", "C.z")),
    Case("unknown-loop", partial(stage_mem, MATMUL, "C", "C.z")),
    Case("unknown-loop", partial(prefetch, MATMUL, "B", "C.z", 1)),
    Case("unknown-stage", partial(reverse_compute_at, RELU, "Z", "C.i")),
    Case("unknown-stage", partial(cache_read, MATMUL, "A", "Z")),
    Case("unknown-stage", partial(decompose_reduction, MATMUL, "Z", "C.k")),
    Case("unknown-stage", partial(rfactor, MATMUL, "Z", "k", 2)),
    Case("unknown-buffer", partial(cache_read, MATMUL, "Z", "C")),
    Case("unknown-buffer", partial(set_scope, MATMUL, "Z", "stack")),
    Case("unknown-buffer", partial(stage_mem, MATMUL, "Z", "C.j")),
    Case("unknown-buffer", partial(transform_layout, MATMUL, "Z", "i -> i")),
    Case("unknown-buffer", partial(prefetch, MATMUL, "Z", "C.k", 1)),
    Case("unknown-axis", partial(rfactor, MATMUL, "C", "z", 2)),
    Case("unknown-axis", partial(rfactor, MATMUL, "C", "j", 2)),
    Case("bad-factor", partial(rfactor, MATMUL, "C", "k", 0)),
    Case("bad-factor", partial(rfactor, MATMUL, "C", "k", 2.0)),
    Case("bad-factor", partial(prefetch, MATMUL, "B", "C.k", 0)),
    Case("not-serial", partial(parallel, unroll(MATMUL, "C.i"), "C.i"), "C.i"),
    Case("not-serial", partial(fuse_axes, unroll(MATMUL, "C.j"), "C.i", "C.j"), "C.j"),
    Case("not-serial", partial(prefetch, unroll(MATMUL, "C.k"), "B", "C.k", 1), "C.k"),
    Case(
        "extent-not-constant",
        partial(fuse_axes, split(MATMUL, "C.j", 4, "guard"), "C.j.0", "C.j.1"),
        "C.j.1",
    ),
    Case("not-nested", partial(fuse_axes, FUSED, "R.i", "R.j"), "R.j"),
    Case("not-nested", partial(fuse_axes, MATMUL, "C.j", "C.i"), "C.i"),
    Case("fuse-reduces", partial(fuse_axes, MATMUL, "C.j", "C.k"), "C.j"),
    Case("fused-region", partial(fuse_axes, RELU, "R.i", "R.j"), "R.i"),
    Case("race", partial(parallel, MATMUL, "C.k"), "C.k"),
    Case("race", partial(parallel, WINDOWS, "M.y"), "M.y"),
    Case("race", partial(parallel, PARTIAL, "C.k"), "C.k"),
    Case("race", partial(compute_at, parallel(POOL, "M.y"), "E", "M.y"), "M.y"),
    Case("race", partial(reorder, parallel(diagonal(), "R.j"), ["R.j", "R.i"]), "R.j"),
    Case("race", partial(store_at, parallel(FUSED, "R.i"), "C", "R.i", "workspace"), "R.i"),
    Case(
        "race",
        partial(set_scope, parallel(store_at(FUSED, "C", "R.i", "stack"), "R.i"), "C", "workspace"),
        "R.i",
    ),
    Case("race", partial(stage_mem, parallel(MATMUL, "C.i"), "A", "C.j", "workspace"), "C.i"),
    Case("private-flow", partial(parallel, sliding(), "S.y"), "S.y"),
    Case("nested-parallel", partial(parallel, parallel(MATMUL, "C.i"), "C.j"), "C.j"),
    Case("nested-parallel", partial(parallel, parallel(MATMUL, "C.j"), "C.i"), "C.i"),
    Case("unknown-stage", partial(compute_with, FORK, "Z", "R.i", ["i"])),
    Case("unknown-loop", partial(compute_with, FORK, "L", "R.z", ["i"])),
    Case("unknown-axis", partial(compute_with, FORK, "L", "R.i", ["z"])),
    Case("stage-scheduled", partial(compute_with, split(FORK, "L.j", 2), "L", "R.i", ["i"])),
    Case("many-writers", partial(compute_with, halves(), "S", "T.i", ["i"])),
    Case("in-place", partial(compute_with, scan(), "S", "R.i", ["i"])),
    Case("order", partial(compute_with, FORK, "R", "L.i", ["i"]), "L.i"),
    Case("not-independent", partial(compute_with, FORK, "S", "R.i", ["i"]), "R.i"),
    Case("not-independent", partial(compute_with, diamond(3, 4), "A", "R.i", ["i"]), "R.i"),
    Case("not-independent", partial(compute_with, overwritten(), "S", "T.i", ["i"]), "T.i"),
    Case("not-alike", partial(compute_with, FORK, "L", "R.j", ["i"])),
    Case("not-alike", partial(compute_with, FORK, "L", "R.j", ["i", "i"])),
    Case("not-alike", partial(compute_with, FORK, "L", "R.j", ["j", "i"])),
    Case("not-alike", partial(compute_with, partition_loop(FORK, "R.i", 1, 3), "L", "R.i", ["i"])),
    Case("inside-vector", partial(compute_with, VECTOR_FORK, "L", "R.j", ["i", "j"]), "R.j"),
    Case("not-intermediate", partial(set_scope, MATMUL, "C", "stack")),
    Case("not-intermediate", partial(transform_layout, MATMUL, "B", "k j -> j k")),
    Case("bad-scope", partial(set_scope, RELU, "C", "constant")),
    Case("bad-scope", partial(stage_mem, MATMUL, "C", "C.j", "input")),
    Case("not-used", partial(cache_read, RELU, "A", "R")),
    Case("not-used", partial(stage_mem, RELU, "A", "R.j"), "R.j"),
    Case("in-place", partial(cache_read, scan(), "S", "S")),
    Case("in-place", partial(reverse_compute_at, scan(), "S", "R.i")),
    Case("in-place", partial(rfactor, into_itself(), "C", "k", 2)),
    Case("order", partial(cache_read, FUSED, "C", "R")),
    Case("order", partial(reverse_compute_at, RELU, "R", "R.i"), "R.i"),
    Case("order", partial(reverse_compute_at, diamond(3, 4), "R", "A.i"), "A.i"),
    Case("order", partial(stage_mem, FUSED, "C", "R.j"), None),
    Case("not-filled", partial(cache_read, sparse(), "S", "R")),
    Case("not-filled", partial(cache_read, halves(), "S", "R")),
    Case("not-filled", partial(stage_mem, sparse(), "S", "R.i")),
    Case("stage-scheduled", partial(reverse_compute_at, split(RELU, "R.j", 2), "R", "C.i")),
    Case("stage-scheduled", partial(rfactor, split(MATMUL, "C.k", 5), "C", "k", 2)),
    Case("many-writers", partial(reverse_compute_at, halves(), "T", "S.i")),
    Case("not-elementwise", partial(reverse_compute_at, POOL, "M", "E.y"), "E.y"),
    Case("not-elementwise", partial(reverse_compute_at, cropped(), "R", "S.i"), "S.i"),
    Case("not-producer-loop", partial(reverse_compute_at, halves(), "R", "T.i"), "T.i"),
    Case("incomplete", partial(reverse_compute_at, RELU, "R", "C.k"), "C.k"),
    Case(
        "incomplete",
        partial(reverse_compute_at, reorder(RELU, ["C.k", "C.i"]), "R", "C.i"),
        "C.i",
    ),
    Case("no-region", partial(reverse_compute_at, split(RELU, "C.i", 3, "masked"), "R", "C.i.0")),
    Case("no-region", partial(reverse_compute_at, spread(), "R", "S.i"), "S.i"),
    Case("no-region", partial(stage_mem, scan(), "S", "S.j"), "S.j"),
    Case("no-region", partial(stage_mem, sparse(), "S", "S.i"), "S.i"),
    Case("inside-vector", partial(reverse_compute_at, vectorize(CHAIN, "S.j"), "R", "S.j"), "S.j"),
    Case("inside-vector", partial(stage_mem, vectorize(CHAIN, "S.j"), "S", "S.j"), "S.j"),
    Case("inside-vector", partial(decompose_reduction, LANES, "C", "C.j"), "C.j"),
    Case("no-reduction", partial(decompose_reduction, CHAIN, "S", "S.i"), "S.i"),
    Case("no-reduction", partial(decompose_reduction, RELU, "C", "R.i"), "R.i"),
    Case("no-reduction", partial(decompose_reduction, PARTIAL, "C", "C.k"), "C.k"),
    Case("no-reduction", partial(rfactor, CHAIN, "R", "j", 2)),
    Case("no-reduction", partial(rfactor, differences(), "C", "k", 2)),
    Case(
        "starts-outside",
        partial(decompose_reduction, reorder(MATMUL, ["C.k", "C.i"]), "C", "C.i"),
        "C.i",
    ),
    Case("starts-outside", partial(stage_mem, reorder(MATMUL, ["C.k", "C.i"]), "C", "C.i"), "C.i"),
    Case("starts-twice", partial(decompose_reduction, OVERLAPPING, "C", "C.i.0"), "C.i.0"),
    Case(
        "starts-twice",
        partial(decompose_reduction, store_at(FUSED, "C", "R.i", "stack"), "C", "R.i"),
        "R.i",
    ),
    Case("init-order", partial(decompose_reduction, compute_at(TWO, "H", "D.q"), "D", "D.q")),
    Case("init-order", partial(decompose_reduction, into_itself(), "C", "C.i"), "C.i"),
    Case("bad-layout", partial(transform_layout, RELU, "C", "i j")),
    Case("bad-layout", partial(transform_layout, RELU, "C", "i -> i")),
    Case("bad-layout", partial(transform_layout, RELU, "C", "i i -> i i")),
    Case("bad-layout", partial(transform_layout, RELU, "C", "i j -> j")),
    Case("bad-layout", partial(transform_layout, RELU, "C", "i j -> i j k")),
    Case("bad-layout", partial(transform_layout, RELU, "C", "i j -> i j//2")),
    Case("bad-layout", partial(transform_layout, RELU, "C", "i j -> i j//2 j%3")),
    Case("bad-layout", partial(transform_layout, RELU, "C", "i j -> i j//0 j%0")),
    Case("not-parameter", partial(prefetch, RELU, "C", "R.j", 1)),
    Case("not-streamed", partial(prefetch, MATMUL, "B", "C.i", 1), "C.i"),
    Case("not-streamed", partial(prefetch, RELU, "B", "R.i", 1), "R.i"),
    Case("vector-reduces", partial(vectorize, PARTIAL, "C.k")),
    Case(
        "not-innermost",
        partial(vectorize, prefetch(CHAIN, "x", "S.j", 1), "S.j"),
        "S.j",
    ),
]
