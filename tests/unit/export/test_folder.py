"""The exported folder: complete, the same every time, built by make and CMake, warning-free."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import ago
from ago.errors import InputError
from ago.runtime.export import export_artifact
from tests.support.exported import (
    C_FLAGS,
    CLANG,
    CLANGXX,
    CXX_FLAGS,
    GCC,
    GXX,
    NAME,
    SIZE,
    artifact,
    compiler,
    export,
    graph,
    kernel_flags,
    model_files,
    odd_graph,
    run,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(tmp_path_factory.mktemp("folder"))


def pattern() -> np.ndarray:
    """The input of the example program."""
    flat = (np.arange(3 * SIZE * SIZE) % 255).astype(np.float32) / np.float32(127) - np.float32(1)
    return flat.reshape(1, 3, SIZE, SIZE)


def check_example(line: str) -> None:
    report = json.loads(line)
    softmax, scores = ago.optimize(graph())(pattern())
    assert report["model"] == NAME
    assert np.array_equal(np.float32(report["output_0"]), softmax.ravel()[:4])
    assert np.array_equal(np.float32(report["output_1"]), scores.ravel()[:4])


def test_the_manifest_describes_the_folder(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    names = {path.name for path in folder.iterdir()}
    assert set(manifest["files"]) == names - {"manifest.json"}
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    weights = (folder / f"{NAME}.weights").read_bytes()
    assert manifest["weights"]["bytes"] == len(weights)
    assert manifest["inputs"] == [
        {"name": "image", "dtype": "f32", "shape": [1, 3, SIZE, SIZE], "bytes": 12 * SIZE * SIZE}
    ]
    assert [output["shape"] for output in manifest["outputs"]] == [[8, 10], [8, 10]]
    assert len(manifest["steps"]) == len(artifact().steps)
    assert all(step["trace"]["instructions"] for step in manifest["steps"])


def test_the_bytes_are_the_same_every_time(folder, tmp_path):
    script = (
        "import sys; from pathlib import Path; from tests.support.exported import export;"
        "export(Path(sys.argv[1]))"
    )
    root = Path(__file__).resolve().parents[3]
    python = [shutil.which("python3") and __import__("sys").executable, "-c", script, tmp_path]
    run(python, root, PYTHONHASHSEED="7", PYTHONPATH=str(root))
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


def test_files_of_an_earlier_export_go_and_others_stay(tmp_path):
    export(tmp_path, "incbin", threads=2)
    (tmp_path / "mine.c").write_text("int mine;")
    assert (tmp_path / f"{NAME}_weights.S").exists()
    assert (tmp_path / "ago_pool.c").exists()
    export(tmp_path, "array")
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {*manifest["files"], "manifest.json", "mine.c"}


@pytest.mark.parametrize("text", ["{", "[]", '{"files": {"../x.c": "", "/x.c": ""}}'])
def test_a_manifest_of_somebody_else_removes_nothing(tmp_path, text):
    (tmp_path / "x.c").write_text("")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "manifest.json").write_text(text)
    export(folder)
    assert (tmp_path / "x.c").exists()


def test_unknown_forms_of_weights_are_refused(tmp_path):
    with pytest.raises(InputError, match="weights='zip': expected one of file, incbin, array"):
        export_artifact(artifact(), tmp_path, weights="zip")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/inner.* cannot be written: Not a directory"):
        export_artifact(artifact(), tmp_path / "file" / "inner")


@pytest.mark.parametrize("names", [CLANG, GCC], ids=["clang", "gcc"])
def test_it_is_c11_without_warnings(folder, tmp_path, names):
    files = [folder / name for name in (*model_files(folder), "main.c")]
    run([compiler(*names), *C_FLAGS, *kernel_flags(folder), "-c", *files], tmp_path)


@pytest.mark.parametrize("names", [CLANGXX, GXX], ids=["clang++", "g++"])
def test_it_is_c_plus_plus_as_well(folder, names):
    files = (*model_files(folder), "main.c")
    command = [compiler(*names), *CXX_FLAGS, *kernel_flags(folder), "-x", "c++", "-fsyntax-only"]
    run([*command, *files], folder)


def test_make_builds_it_in_an_empty_environment(tmp_path):
    if shutil.which("make") is None:
        pytest.skip("no make here")
    make = ["make", "-s", f"CC={compiler(*CLANG, *GCC)}", "CFLAGS=-O1 -Werror"]
    times = []
    for form in ("file", "incbin", "array"):
        run(make, export(tmp_path, form))
        assert (tmp_path / f"lib{NAME}.a").stat().st_size > 0
        check_example(run([tmp_path / f"{NAME}_example", "2"], tmp_path))
        times.append((tmp_path / f"{NAME}_kernels_0.o").stat().st_mtime_ns)
    assert len(set(times)) == 1  # kernels that did not change are not compiled again


def test_cmake_builds_it_in_an_empty_environment(tmp_path):
    if shutil.which("cmake") is None:
        pytest.skip("no cmake here")
    folder = export(tmp_path / "folder", "incbin", threads=2)
    assert artifact(threads=2).parallel
    cc = f"-DCMAKE_C_COMPILER={compiler(*CLANG, *GCC)}"
    run(["cmake", "-S", folder, "-B", "build", cc], tmp_path)
    run(["cmake", "--build", "build"], tmp_path)
    check_example(run([tmp_path / "build" / f"{NAME}_example", "2"], tmp_path))


def test_other_element_types_and_words_of_c_plus_plus_as_names(tmp_path):
    ago.optimize(odd_graph()).export(tmp_path)
    flags, files = kernel_flags(tmp_path), (*model_files(tmp_path), "main.c")
    run([compiler(*GCC, *CLANG), *C_FLAGS, *flags, *files, "-o", "example"], tmp_path)
    generated = [file for file in files if not file.startswith("ago_")]
    command = [compiler(*GXX, *CLANGXX), *CXX_FLAGS, *flags, "-x", "c++", "-fsyntax-only"]
    run([*command, *generated], tmp_path)
    report = json.loads(run([tmp_path / "example", "1"], tmp_path))
    assert report["output_0"] == [0, 0, 0]
    assert report["output_1"] == [0, 0, 0, 0]
