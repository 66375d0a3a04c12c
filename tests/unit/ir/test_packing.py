"""Packed constants hold the elements that their recipe says."""

import numpy as np
import pytest

from ago.errors import InputError, IRError
from ago.ir.index import maximum, minimum, var
from ago.ir.nest import Buffer, Packing
from ago.ir.packing import pack_array
from ago.ir.program import Program

BLOCK, DEPTH, LANE = var("o"), var("k"), var("l")
WEIGHTS = Buffer("w", (6, 5), "constant")


def program(*buffers):
    return Program("p", (WEIGHTS, *buffers), (), ())


def packed(shape, loops, index, condition=(), source="w", name="wp"):
    return Buffer(name, shape, "constant", packing=Packing(source, loops, index, condition))


@pytest.fixture
def params():
    return {"w": np.arange(30, dtype=np.float32).reshape(6, 5)}


def test_a_constant_without_a_recipe_is_the_parameter(params):
    assert pack_array(program(), "w", params) is params["w"]


def test_blocks_of_columns_are_padded_with_zeros(params):
    block = packed((3, 6, 2), ("o", "k", "l"), (DEPTH, BLOCK * 2 + LANE), (4 - BLOCK * 2 - LANE,))
    result = pack_array(program(block), "wp", params)
    padded = np.pad(params["w"], ((0, 0), (0, 1)))
    np.testing.assert_array_equal(result, padded.reshape(6, 3, 2).transpose(1, 0, 2))
    assert result.dtype == np.float32
    assert result.flags.c_contiguous


def test_a_recipe_may_gather_from_a_packed_constant(params):
    turned = packed((5, 6), ("k", "o"), (BLOCK, DEPTH))
    again = packed((6, 5), ("o", "k"), (DEPTH, BLOCK), source="wp", name="wpp")
    np.testing.assert_array_equal(pack_array(program(turned, again), "wpp", params), params["w"])


def test_loops_that_the_index_does_not_use_repeat_elements(params):
    repeated = packed((2, 5), ("o", "k"), (DEPTH * 0 + 1, DEPTH))
    result = pack_array(program(repeated), "wp", params)
    np.testing.assert_array_equal(result, np.stack([params["w"][1]] * 2))


def test_every_atom_of_an_index_is_evaluated(params):
    index = (minimum(maximum(DEPTH - 1, 0), 5), DEPTH // 2 + BLOCK % 2)
    result = pack_array(program(packed((4, 7), ("o", "k"), index)), "wp", params)
    expected = [
        [params["w"][min(max(k - 1, 0), 5), k // 2 + o % 2] for k in range(7)] for o in range(4)
    ]
    np.testing.assert_array_equal(result, expected)


def test_what_does_not_fit_is_refused(params):
    with pytest.raises(InputError, match="no array was given for constant w"):
        pack_array(program(), "w", {})
    with pytest.raises(InputError, match=r"shape \(2,\), expected \(6, 5\)"):
        pack_array(program(), "w", {"w": np.zeros(2)})
    for buffer, code in (
        (packed((6, 5), ("o",), (BLOCK, BLOCK)), "wrong-rank"),
        (packed((6, 5), ("o", "k"), (BLOCK,)), "wrong-rank"),
        (packed((6, 6), ("o", "k"), (BLOCK, DEPTH)), "out-of-bounds"),
        (packed((6, 5), ("o", "k"), (BLOCK, LANE)), "unbound-variable"),
        (packed((6, 5), ("o", "k"), (BLOCK, DEPTH), source="v"), "unknown-buffer"),
    ):
        with pytest.raises(IRError) as refusal:
            pack_array(program(buffer), "wp", params)
        assert refusal.value.code == code
