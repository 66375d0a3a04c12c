"""`anchor_pointers`: pointers of innermost loops start where the loop does."""

from dataclasses import replace

from ago.codegen.anchors import anchor_pointers
from ago.codegen.tree import Block, Broadcast, Load, Loop, Pointer, Register, Tree, Write
from ago.ir.index import as_index, var

STEP, OUTER = var("k"), var("y")


def tree(block: Block, *pointers: Pointer) -> Tree:
    inner = Loop("k", as_index(0), as_index(9), (block,))
    return Tree((Loop("y", as_index(1), as_index(5), (inner,)),), pointers, ())


def inner_loop(after: Tree) -> Loop:
    (outer,) = after.body
    assert isinstance(outer, Loop)
    (inner,) = outer.body
    assert isinstance(inner, Loop)
    return inner


def test_offsets_count_from_the_least_one() -> None:
    block = Block((Load(0, -24, 8), Load(0, 16, 8), Broadcast(1, 4)), ())
    after = anchor_pointers(tree(block, Pointer("x", OUTER * 40 + STEP * 8), Pointer("w", STEP)))
    loop = inner_loop(after)
    assert {str(after.pointers[n].base) for n in loop.anchored} == {"8 * k + 40 * y - 24", "k + 4"}
    (block,) = loop.body
    assert isinstance(block, Block)
    assert [node.offset for node in block.nodes if isinstance(node, Load | Broadcast)] == [0, 40, 0]


def test_what_the_loop_does_not_move_keeps_its_pointer() -> None:
    before = tree(Block((Load(0, 3, 8),), ()), Pointer("b", OUTER * 8))
    assert anchor_pointers(before) == before


def test_a_loop_that_stores_stays_as_it_is() -> None:
    block = Block((Load(0, -8, 8),), (Write(1, 0, 8, 0, "s"),))
    before = tree(block, Pointer("x", STEP * 8), Pointer("y", STEP * 8))
    assert anchor_pointers(before) == before


def test_only_float32_is_anchored() -> None:
    block = Block((Load(0, 1, 0), Register("r", vector=False)), ())
    before = tree(block, replace(Pointer("i", STEP), dtype="i32"))
    assert anchor_pointers(before) == before
