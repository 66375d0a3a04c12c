"""Weights in files beside the model."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from ago.errors import ModelError
from ago.frontend import load
from tests.support.onnx_models import integers, make_model


@pytest.fixture
def external(tmp_path):
    """A model `net/model.onnx` with its weight in a file that the tests may move."""
    folder = tmp_path / "net"
    folder.mkdir()
    weight = integers((3, 3))
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    model = make_model([node], {"x": (2, 3)}, ["y"], {"w": weight})

    def write(location, data=None, **entries):
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        del tensor.external_data[:]
        for key, value in {"location": location, **entries}.items():
            tensor.external_data.add(key=key, value=str(value))
        (folder / "w.bin").write_bytes(weight.tobytes() if data is None else data)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        return folder / "model.onnx"

    write.weight, write.folder, write.model = weight, folder, model
    return write


def test_external_data_is_read(external):
    graph = load(external("w.bin"))
    np.testing.assert_array_equal(graph.params["w"], external.weight)


def test_external_data_at_an_offset(external):
    data = b"\xff" * 64 + external.weight.tobytes() + b"\xff" * 8
    graph = load(external("w.bin", data, offset=64, length=36))
    np.testing.assert_array_equal(graph.params["w"], external.weight)


def test_external_data_that_is_missing_names_the_file(external):
    with pytest.raises(ModelError, match=r"'gone\.bin' of the tensor 'w' cannot be read"):
        load(external("gone.bin"))


@pytest.mark.parametrize("location", ["../w.bin", "sub/../../w.bin", "/etc/passwd", ""])
def test_external_data_outside_the_folder(external, location):
    (external.folder.parent / "w.bin").write_bytes(external.weight.tobytes())
    with pytest.raises(ModelError, match="lies outside the model's folder"):
        load(external(location))


def test_external_data_behind_a_link_out_of_the_folder(external):
    (external.folder.parent / "secret.bin").write_bytes(external.weight.tobytes())
    (external.folder / "link.bin").symlink_to(external.folder.parent / "secret.bin")
    with pytest.raises(ModelError, match="lies outside the model's folder"):
        load(external("link.bin"))


def test_external_data_at_what_is_no_path(external):
    with pytest.raises(ModelError, match="is no path"):
        load(external("a\0b"))


def test_external_data_that_is_truncated(external):
    with pytest.raises(ModelError, match="truncated: 8 of 36 bytes"):
        load(external("w.bin", b"12345678", length=36))
    with pytest.raises(ModelError, match="'w' is damaged"):
        load(external("w.bin", b"12345678"))


def test_external_data_with_a_bad_offset(external):
    with pytest.raises(ModelError, match="cannot be read"):
        load(external("w.bin", offset=-4, length=36))
    with pytest.raises(ModelError, match="cannot be read"):
        load(external("w.bin", offset="many"))


def test_external_data_of_a_model_in_memory(external):
    external("w.bin")
    with pytest.raises(ModelError, match="load the model from its path"):
        load(external.model)


# Inputs
