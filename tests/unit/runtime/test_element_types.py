"""A model whose inputs and outputs are of many element types, from end to end."""

import json

import numpy as np
import pytest

import ago
from ago.errors import InputError
from ago.frontend import GraphBuilder
from ago.options import Options
from ago.pipeline import compile_graph
from ago.runtime.artifact import TensorInfo
from ago.runtime.build import build, build_kinds
from ago.runtime.device import run_emulated, run_program
from ago.runtime.store import read_artifact, write_artifact
from ago.runtime.verify import random_inputs
from ago.target import TARGETS, resolve_target, runs_on_host

FEEDS = {
    "pixels": np.array([[0, 128, 255]], np.uint8),
    "offset": np.array([3, -3, 2**40], np.int64),
    "keep": np.array([[True], [False]]),
}
WANTED = {
    "real": np.array([[-1.0, 0.0, 0.9921875]], np.float32),
    "sum": np.array([[6, 3, 3 + 2**40]], np.int64),
    "kept": np.array([[True, True, True], [False, False, False]]),
    "small": np.array([[-128, 0, 127]], np.int8),
}


def graph():
    b = GraphBuilder("types")
    pixels, offset = b.input("pixels", (1, 3), "u8"), b.input("offset", (3,), "i64")
    keep = b.input("keep", (2, 1), "bool")
    real = b.apply("Cast", pixels, to="f32")
    centred = b.mul(b.sub(real, 128.0), 0.0078125, name="real")
    three = b.constant(np.array(3), dtype="i64")
    total = b.apply("Add", b.apply("Max", offset, b.constant([[0] * 3], dtype="i64")), three)
    kept = b.apply("And", keep, b.constant([[True] * 3], dtype="bool"), name="kept")
    small = b.apply("Cast", b.sub(real, 128.0), to="i8", name="small")
    return b.build(centred, b.identity(total, name="sum"), kept, small)


def check(outputs):
    assert outputs.keys() == WANTED.keys()
    for name, wanted in WANTED.items():
        assert outputs[name].dtype == wanted.dtype
        np.testing.assert_array_equal(outputs[name], wanted)


def test_arrays_of_all_types_go_in_and_come_out():
    net = ago.optimize(graph())
    check(net.run(FEEDS))
    assert net.verify().max_error == 0.0
    assert "offset, int64_t[3]" in net.source
    assert "kept: bool[2, 3]" in str(net)
    with pytest.raises(InputError, match=r"offset is int32\[3\], expected int64\[3\]"):
        net.run({**FEEDS, "offset": FEEDS["offset"].astype(np.int32)})


def test_an_artifact_keeps_its_types_in_a_file(tmp_path):
    artifact = compile_graph(graph(), Options(resolve_target("host"))).artifact
    write_artifact(artifact, tmp_path)
    assert read_artifact(tmp_path).inputs == artifact.inputs
    assert [info.dtype for info in artifact.outputs] == ["f32", "i64", "bool", "i8"]
    json.dumps([str(info) for info in artifact.inputs])


def test_the_emulator_runs_them(tmp_path):
    artifact = compile_graph(graph(), Options(TARGETS["cortex-a76"])).artifact
    check(run_emulated(artifact, build(artifact, "shared", tmp_path / "m.so"), FEEDS).outputs)


@pytest.mark.skipif(not runs_on_host(TARGETS["portable"]), reason="no host compiler")
def test_the_benchmark_program_runs_them(tmp_path):
    artifact = compile_graph(graph(), Options(resolve_target("host"))).artifact
    program = tmp_path / "bench"
    build_kinds(artifact, {"shared": tmp_path / "m.so", "executable": program})
    check(run_program(artifact, program, FEEDS).outputs)


def test_random_inputs_have_the_inputs_types():
    infos = [TensorInfo("x", (2, 3)), TensorInfo("n", (9,), "i64"), TensorInfo("b", (4,), "bool")]
    first, again = (random_inputs(infos, 7) for _ in range(2))
    for info in infos:
        assert first[info.name].dtype == info.numpy
        assert first[info.name].shape == info.shape
        np.testing.assert_array_equal(first[info.name], again[info.name])
    assert set(first["n"]) <= {0, 1}
