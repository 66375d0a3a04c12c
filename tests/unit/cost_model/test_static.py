"""Static cost: blocks by hand; what llvm-mca is asked, and what follows from its answer."""

import shutil

import numpy as np
import pytest

from ago.cost_model import static
from ago.cost_model.static import Block, StaticModel, basic_blocks
from ago.errors import ToolchainError
from ago.target import TARGETS

A76 = TARGETS["cortex-a76"]
CODE = {
    0x100: "mov\tx9, #0x7",
    0x104: "tbz\tw9, #0x0, 0x10c <entry+0xc>",
    0x108: "str\tq0, [sp, #16]",
    0x10C: "subs\tx9, x9, #0x1",
    0x110: "b.ne\t0x104 <entry+0x4>",
    0x114: "ret",
    0x120: "nop",
}


def model() -> StaticModel:
    try:
        return StaticModel(A76)
    except ToolchainError as error:
        pytest.skip(str(error))


def products(accumulators: int, extra: str = "") -> Block:
    """Multiply-accumulates that depend on those `accumulators` before."""
    lines = [f"fmla\tv{n % accumulators}.4s, v30.4s, v31.4s" for n in range(24)]
    return Block((*lines, *filter(None, [extra])), 1000)


def test_blocks_end_where_code_branches_or_counts_change() -> None:
    counts = np.array([1, 7, 4, 7, 7, 1, 0, 0, 9])
    found = basic_blocks(CODE, 0x100, counts)
    assert [(len(block.text), block.executions) for block in found] == [
        (1, 1),
        (1, 7),
        (1, 4),
        (2, 7),
        (1, 1),
        (1, 9),
    ]
    assert sum(block.instructions for block in found) == 1 + 7 + 4 + 14 + 1 + 9
    assert [block.stack_accesses for block in found] == [0, 0, 1, 0, 0, 0]
    assert found[1].text == ("tbz\tw9, #0x0, ago_target",)


def test_instructions_of_any_size_follow_each_other() -> None:
    counts = np.zeros(0x14, int)
    code = {0x100: "pushq\t%rax", 0x101: "addq\t$8, %rdi", 0x105: "jne\t0x101 <entry+0x1>"}
    counts[[0x0, 0x1, 0x5, 0x7]] = 1, 9, 9, 1
    found = basic_blocks(code | {0x107: "popq\t%rax"}, 0x100, counts, width=1)
    assert [(len(block.text), block.executions) for block in found] == [(1, 1), (2, 9), (1, 1)]
    assert found[1].text[1] == "jne\tago_target"


def test_code_that_was_not_executed_is_no_block() -> None:
    assert basic_blocks(CODE, 0x100, np.zeros(9, int)) == []


def test_cycles_see_dependences_that_counts_do_not() -> None:
    few, many = (model().cost([products(n)]) for n in (2, 16))
    assert few.instructions == many.instructions == 24_000
    assert 24_000 / 2 <= many.cycles < 1.2 * 24_000 / 2
    assert few.cycles > 2 * many.cycles


def test_accesses_to_the_stack_cost_more_than_they_take_to_issue() -> None:
    plain = model().cost([products(16, "ldr\tq20, [x1, #16]")])
    spilt = model().cost([products(16, "ldr\tq20, [sp, #16]")])
    assert (plain.stack_accesses, spilt.stack_accesses) == (0, 1000)
    assert spilt.cycles > plain.cycles + 1000


def test_blocks_that_hardly_count_cost_what_the_others_do() -> None:
    whole = model().cost([products(16), Block(("fsqrt\tv0.4s, v1.4s",), 1)])
    assert whole.instructions == 24_001
    assert whole.cycles == pytest.approx(model().cost([products(16)]).cycles, rel=1e-3)


def test_what_llvm_cannot_read_is_said() -> None:
    with pytest.raises(ToolchainError, match="llvm-mca"):
        model().cost([Block(("nonsense\tx9",), 1)])


def test_a_missing_tool_is_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ToolchainError, match=r"llvm-objdump.*no pip package.*apt install"):
        StaticModel(A76)


def test_an_old_tool_is_named_with_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if "-" in name[5:] else f"/bin/{name}")
    monkeypatch.setattr(static, "_version", lambda path: 14)
    with pytest.raises(ToolchainError, match=r"found is only .* LLVM 14"):
        StaticModel(A76)


def test_a_target_without_a_core_has_no_model() -> None:
    model()
    with pytest.raises(ToolchainError, match="portable"):
        StaticModel(TARGETS["portable"])
