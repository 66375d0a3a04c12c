"""Layouts, element types and tensor types."""

import numpy as np
import pytest

from ago.ir.attributes import FrozenMap, read_float, read_int, read_ints
from ago.ir.tensor import Layout, TensorType, dtype_name, numpy_dtype


@pytest.mark.parametrize(
    ("layout", "shape", "physical"),
    [
        (Layout.row_major(2), (3, 5), (3, 5)),
        (Layout.row_major(2, 8), (3, 5), (3, 8)),
        (Layout.row_major(0, 8), (), ()),
        (Layout.channels_last(4), (1, 3, 7, 9), (1, 7, 9, 3)),
        (Layout.channels_last(4, 8), (2, 17, 7, 9), (2, 7, 9, 24)),
        (Layout.channels_last(3, 4), (2, 3, 7), (2, 7, 4)),
        (Layout.channels_last(2, 4), (2, 3), (2, 4)),
        (Layout.channels_last(5), (1, 2, 3, 4, 5), (1, 3, 4, 5, 2)),
    ],
)
def test_physical_shape(layout, shape, physical):
    assert layout.physical_shape(shape) == physical
    kind = TensorType(shape, "f32", layout)
    assert kind.physical_shape == physical
    assert kind.nbytes == 4 * int(np.prod(physical))
    assert kind.size == int(np.prod(shape))


def test_without_layout_a_tensor_is_row_major():
    assert TensorType((3, 5), "i64").nbytes == 120


def test_refused_layouts():
    with pytest.raises(ValueError, match="not a permutation"):
        Layout((0, 0))
    with pytest.raises(ValueError, match="at least 1"):
        Layout((0, 1), 0)
    with pytest.raises(ValueError, match="rank 2 on the shape"):
        Layout.row_major(2).physical_shape((1,))
    with pytest.raises(ValueError, match="does not fit the shape"):
        TensorType((3,), "f32", Layout.row_major(2))


def test_element_types_round_trip():
    for name in ("f16", "f32", "f64", "i8", "u8", "i32", "i64", "bool"):
        assert dtype_name(numpy_dtype(name)) == name
    assert dtype_name(np.dtype(">f4")) == "f32"
    with pytest.raises(ValueError, match="unknown element type"):
        TensorType((1,), "float32")
    with pytest.raises(ValueError, match="is not one of"):
        dtype_name(np.dtype(np.complex64))


def test_printing():
    assert str(TensorType((1, 3, 7, 7))) == "f32[1,3,7,7]"
    assert str(TensorType((1, 3), "i64", Layout((1, 0), 8))) == "i64[1,3]@(1,0)^8"


def test_attribute_readers_refuse_other_kinds():
    attrs = FrozenMap({"n": 1, "x": 2.5, "list": [1, 2]})
    assert read_int(attrs, "n") == 1
    assert read_float(attrs, "n") == 1.0
    assert read_ints(attrs, "list") == (1, 2)
    with pytest.raises(TypeError, match="must be an integer"):
        read_int(attrs, "x")
    with pytest.raises(TypeError, match="must be a number"):
        read_float(attrs, "list")
    with pytest.raises(TypeError, match="sequence of integers"):
        read_ints(attrs, "n")
