"""Each rule of fusion, with a plan that breaks it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ago.errors import FusionError
from ago.frontend import GraphBuilder
from ago.fuse import FusionPlan, Nest, Placement, fuse
from ago.fuse.pieces import find_pieces
from ago.fuse.plan import Blocks
from ago.fuse.rules import RULES
from ago.ir.index import var
from ago.ir.program import Program
from ago.ir.value import Const, Load, mul
from ago.schedule.trace import Schedule
from tests.support.fused import inverted_residual, program_of, weights
from tests.support.subgraphs import buffers, stage

BLOCK = program_of(inverted_residual())


def fork() -> Program:
    """A convolution read by a pointwise and by a padded one, whose results are added."""
    b = GraphBuilder("fork")
    x = b.input("x", (1, 8, 12, 12))
    y = b.relu(b.conv(x, weights(8, 8, 1, 1)))
    left = b.relu(b.conv(y, weights(8, 8, 1, 1)))
    right = b.conv(left, weights(8, 8, 3, 3), pads=1)
    return program_of(b.build(b.global_average_pool(b.add(b.add(left, right), y))))


def grouped() -> Program:
    """A pointwise convolution, then one of two groups."""
    b = GraphBuilder("grouped")
    y = b.conv(b.input("x", (1, 8, 6, 6)), weights(16, 8, 1, 1))
    y = b.conv(y, weights(16, 8, 3, 3), pads=1, group=2)
    return program_of(b.build(b.global_average_pool(y)))


def branches() -> Program:
    """Two chains of two convolutions each, whose results are added."""
    b = GraphBuilder("branches")
    x = b.input("x", (1, 8, 6, 6))
    wide = [b.relu(b.conv(x, weights(8, 8, 1, 1))) for _ in range(2)]
    left, right = (b.conv(y, weights(8, 8, 1, 1)) for y in wide)
    return program_of(b.build(b.global_average_pool(b.add(left, right))))


def mirror(n: int = 6) -> Program:
    """Rows of sums, read from the last to the first."""
    i, j, k = var("P.i"), var("P.j"), var("P.k")
    product = mul(Load("x", (i, k)), Load("w", (k, j)))
    first = stage(
        "P",
        {"i": n, "j": 8, "k": 3},
        "P",
        product,
        function="add",
        init=Const(0.0),
        reduce=("k",),
    )
    i, j, k = var("R.i"), var("R.j"), var("R.k")
    product = mul(Load("P", (n - 1 - i, k)), Load("v", (k, j)))
    second = stage(
        "R",
        {"i": n, "j": 8, "k": 8},
        "R",
        product,
        function="add",
        init=Const(0.0),
        reduce=("k",),
    )
    made = buffers(
        x=("input", (n, 3)),
        w=("constant", (3, 8)),
        v=("constant", (8, 8)),
        R=("output", (n, 8)),
        P=("workspace", (n, 8)),
    )
    return Program.naive("mirror", made, (first, second))


@dataclass(frozen=True)
class Broken:
    """A plan, the rule it breaks, and what the error names."""

    code: str
    program: Program
    nest: Nest
    operators: tuple[str, ...]


def nest(
    output: str,
    axis: str,
    *producers: tuple[str, int],
    block: int = 1,
    blocks: Blocks | None = None,
) -> Nest:
    return Nest(tuple(Placement(*p) for p in producers), output, axis, block, blocks)


def residual(*stages: str, reader: str = "clip1", axis: str = "c", size: int = 8) -> Nest:
    """All of `BLOCK` by rows, some of it in blocks."""
    return nest("add", "y", ("pad", 3), ("clip1", 1), blocks=Blocks(stages, reader, axis, size))


CASES = [
    Broken("unknown-stage", BLOCK, nest("clip1", "y", ("conv", 3)), ("conv",)),
    Broken("unknown-stage", BLOCK, nest("sum", "y", ("pad", 3)), ("sum",)),
    Broken("unknown-stage", BLOCK, nest("clip1", "y"), ("clip1",)),
    Broken("repeated-stage", BLOCK, nest("clip1", "y", ("pad", 3), ("pad", 3)), ("pad",)),
    Broken("unknown-axis", BLOCK, nest("clip1", "z", ("pad", 3)), ("clip1",)),
    Broken("bad-block", BLOCK, nest("clip1", "y", ("pad", 7), block=5), ("clip1",)),
    Broken("bad-block", BLOCK, nest("clip1", "y", ("pad", 7), block=0), ("clip1",)),
    Broken("incomplete", BLOCK, nest("add", "k", ("clip1", 1)), ("conv2", "add")),
    Broken("not-convex", BLOCK, nest("add", "y", ("pad", 3)), ("pad", "add")),
    Broken("not-convex", fork(), nest("add1", "y", ("clip", 1)), ("clip", "add1")),
    Broken("not-forward", BLOCK, nest("pad", "y", ("clip1", 1)), ("pad", "clip1")),
    Broken("not-forward", mirror(), nest("R_out", "i", ("P_out", 1)), ("P_out", "R")),
    Broken("not-forward", BLOCK, nest("add", "c", ("clip1", 12), block=8), ("clip1", "conv2")),
    Broken("reused", BLOCK, nest("clip1", "y", ("pad", 2)), ("pad", "conv1")),
    Broken("reused", BLOCK, nest("clip1", "y", ("pad", 4)), ("pad", "conv1")),
    Broken("reused", fork(), nest("clip1", "y", ("clip", 1)), ("clip", "add1")),
    Broken("unrelated", branches(), nest("clip1", "y", ("clip", 1)), ("clip",)),
    Broken("unknown-stage", BLOCK, residual("add"), ("add", "clip1")),
    Broken("unknown-axis", BLOCK, residual("pad", axis="k"), ("clip1",)),
    Broken("bad-block", BLOCK, residual("pad", size=24), ("clip1",)),
    Broken("bad-block", BLOCK, residual("pad", axis="y", size=1), ("clip1",)),
    Broken("shared-block", BLOCK, residual("clip1", reader="add", size=4), ("clip1", "add")),
    Broken("shared-block", BLOCK, residual("pad", reader="add", size=4), ("pad", "clip1")),
    Broken(
        "results-apart",
        BLOCK,
        Nest((Placement("pad", 3),), "add", "y", beside=("clip1",)),
        ("clip1", "add"),
    ),
    Broken("no-region", grouped(), nest("conv1_out", "c", ("pad", 8), block=4), ("pad", "conv1")),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{c.code}" for n, c in enumerate(CASES)])
def test_a_broken_rule_is_named(case: Broken) -> None:
    with pytest.raises(FusionError) as caught:
        fuse(case.program, FusionPlan((case.nest,)))
    error = caught.value
    assert error.code == case.code
    assert error.operators == case.operators
    assert error.loop == case.nest.loop
    assert RULES[case.code] in str(error)


def test_every_rule_is_broken_once() -> None:
    assert {case.code for case in CASES} == set(RULES)


def test_a_stage_in_two_nests() -> None:
    twice = FusionPlan((nest("clip1", "y", ("pad", 3)), nest("add", "y", ("clip1", 1))))
    with pytest.raises(FusionError) as caught:
        fuse(BLOCK, twice)
    assert caught.value.code == "repeated-stage"


def test_nothing_is_rewritten_by_an_illegal_plan() -> None:
    schedule = Schedule(BLOCK)
    find_pieces(schedule)
    with pytest.raises(FusionError):
        fuse(BLOCK, FusionPlan((nest("clip1", "y", ("pad", 2)),)))
    assert program_of(inverted_residual()) == BLOCK


def test_a_hint_says_what_is_legal() -> None:
    with pytest.raises(FusionError, match="hint: a ring of 3, or ring 0"):
        fuse(BLOCK, FusionPlan((nest("clip1", "y", ("pad", 2)),)))
