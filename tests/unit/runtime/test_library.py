"""A handwritten model through compiler, cache and loader, on this machine."""

import sys
import threading

import numpy as np
import pytest

from ago.errors import DeviceError, InputError
from ago.runtime.build import build, build_cached
from ago.runtime.cache import Cache
from ago.runtime.library import Library, Session, aligned_array, aligned_bytes
from ago.target import resolve_target
from tests.support.small_model import expected, small_artifact, some_input

HOST = small_artifact(resolve_target("host"))


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Library:
    out = tmp_path_factory.mktemp("library") / "small.so"
    return Library(build(HOST, "shared", out), HOST.name)


@pytest.fixture
def weights():
    return aligned_bytes(HOST.weights_image)


@pytest.fixture
def workspace():
    return aligned_array(HOST.workspace_bytes, np.uint8)


@pytest.fixture
def output():
    return np.full((1, 5), np.nan, np.float32)


def test_every_toolchain_builds_it(tmp_path, toolchain, weights, workspace, output):
    path = build(HOST, "shared", tmp_path / "small.so", toolchain)
    Library(path, "small").run([some_input()], [output], weights, workspace)
    assert np.array_equal(output, expected(some_input()))


def test_a_session_runs_on_any_arrays(library, weights, workspace, output):
    session = Session(library, 1, 1, weights, workspace)
    other = np.empty_like(output)
    for scale, result in ((1, output), (-2, other), (3, output)):
        session.run([scale * some_input()], [result])
        assert np.array_equal(result, expected(scale * some_input()))


def test_a_session_keeps_its_weights(library, workspace, output):
    blob = aligned_bytes(HOST.weights_image)
    session = Session(library, 1, 1, blob, workspace)
    del blob
    rubbish = [np.full(80, 1e9, np.float32) for _ in range(100)]  # would reuse freed memory
    session.run([some_input()], [output])
    assert np.array_equal(output, expected(some_input()))
    assert len(rubbish) == 100


def test_steps_in_order_are_a_run(library, weights, workspace, output):
    for index in range(len(HOST.steps)):
        assert np.isnan(output).all()
        library.step(index, [some_input()], [output], weights, workspace)
    assert np.array_equal(output, expected(some_input()))
    before_relu = workspace.view(np.float32)[:5]
    assert (before_relu < 0).any()
    assert np.array_equal(np.maximum(before_relu, 0), output[0])


def test_threads_need_only_their_own_workspace(library, weights):
    results = []

    def work(scale: int) -> None:
        x, y = scale * some_input(), np.zeros((1, 5), np.float32)
        session = Session(library, 1, 1, weights, aligned_array(64, np.uint8))
        for _ in range(200):
            y[...] = -1
            session.run([x], [y])
            results.append(np.array_equal(y, expected(x)))

    threads = [threading.Thread(target=work, args=(scale,)) for scale in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 800
    assert all(results)


class TestErrors:
    def test_misaligned_weights(self, library, workspace, output):
        blob = aligned_array(len(HOST.weights_image) + 4, np.uint8)[4:]
        with pytest.raises(DeviceError, match="small_init failed: an address is not aligned"):
            library.run([some_input()], [output], blob, workspace)

    def test_misaligned_workspace(self, library, weights, output):
        with pytest.raises(DeviceError, match="weights and workspace to 64 bytes"):
            library.run([some_input()], [output], weights, aligned_array(96, np.uint8)[16:])

    def test_missing_step(self, library, weights, workspace, output):
        with pytest.raises(DeviceError, match=r"small_step\(2\) failed: no step has this index"):
            library.step(2, [some_input()], [output], weights, workspace)

    def test_arrays_that_are_not_dense(self, library, weights, workspace, output):
        bad = np.zeros((7, 2), np.float32)[:, 0]
        with pytest.raises(InputError, match="input 0 of small must be a C-contiguous array"):
            library.run([bad], [output], weights, workspace)
        with pytest.raises(InputError, match="output 0 of small must be"):
            library.run([some_input()], [bad], weights, workspace)

    def test_a_file_that_is_no_library(self, tmp_path):
        (tmp_path / "x.so").write_text("not ELF")
        with pytest.raises(DeviceError, match="cannot load the compiled model"):
            Library(tmp_path / "x.so", "small")

    def test_a_library_of_another_model(self, library):
        with pytest.raises(DeviceError, match="other_init"):
            Library(library.path, "other")


def test_cached_builds_happen_once(tmp_path, monkeypatch):
    cache = Cache(tmp_path)
    first = build_cached(HOST, cache)
    monkeypatch.setattr("ago.runtime.build.build", None)  # a second build would fail
    assert build_cached(HOST, cache) == first
    assert first.is_relative_to(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="reads ELF")
def test_nothing_but_the_interface_is_exported(library):
    data = library.path.read_bytes()
    for shown in (b"small_init", b"small_run", b"small_step"):
        assert shown + b"\0" in data
    for hidden in (b"small_affine", b"ago_init", b"memcpy", b"libc."):
        assert hidden not in data


@pytest.mark.parametrize("alignment", [64, 4096])
@pytest.mark.parametrize("shape", [(), 0, 5, (3, 5), (1024, 1024)], ids=str)
def test_aligned_array(shape, alignment):
    array = aligned_array(shape, np.float32, alignment)
    assert array.ctypes.data % alignment == 0
    assert array.shape == np.zeros(shape).shape
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert not array.any()
