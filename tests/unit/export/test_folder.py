"""The exported folder: complete, the same every time, built by make and CMake, warning-free."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import ago
from ago.errors import InputError
from ago.options import Options
from ago.pipeline import compile_graph
from ago.runtime.export import export_artifact
from ago.runtime.library import Library, Session, aligned_array, aligned_bytes
from ago.target import resolve_target
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
from tests.support.onnx_models import make_model


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


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"files": {"../x.c": "", "/x.c": ""}}', "[" * 100_000, '{"files": [1]}']
)
def test_a_manifest_of_somebody_else_removes_nothing(tmp_path, text):
    (tmp_path / "x.c").write_text("")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=r"files that AGO did not write.*: manifest\.json; choose"):
        export(folder)
    assert [path.name for path in folder.iterdir()] == ["manifest.json"]
    export(folder, overwrite=True)
    assert (tmp_path / "x.c").exists()


@pytest.mark.parametrize("name", ["README.md", "main.c", "CMakeLists.txt", f"{NAME}.weights"])
def test_files_of_somebody_else_are_not_replaced(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=rf"{tmp_path} has files that AGO did .*: {name}; choose"):
        export(tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "mine")]
    export(tmp_path, overwrite=True)
    assert (tmp_path / name).read_bytes()[:4] != b"mine"


def test_files_that_somebody_changed_are_not_replaced(tmp_path):
    export(tmp_path)
    changed = (tmp_path / "main.c", tmp_path / "README.md")
    for path in changed:
        path.write_text(path.read_text() + "\n")
    before = (tmp_path / "manifest.json").read_bytes()
    with pytest.raises(InputError, match=r"changed since: README\.md, main\.c; choose another"):
        export(tmp_path, "array")
    assert (tmp_path / "manifest.json").read_bytes() == before
    ago.optimize(graph()).export(tmp_path, weights="array", overwrite=True)
    assert (tmp_path / f"{NAME}_weights.c").exists()


def test_what_was_begun_and_not_finished_is_finished(folder, tmp_path):
    for name in (f"{NAME}.h", "Makefile", f"{NAME}.weights"):
        shutil.copyfile(folder / name, tmp_path / name)
    export(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= {"manifest.json", "main.c"}


def listing(**changes: object) -> str:
    """A manifest like AGO's."""
    own = {"format": 1, "name": "old", "ago": "0", "fingerprint": "0x0"}
    return json.dumps({**own, "files": {"x.c": hashlib.sha256(b"mine").hexdigest()}, **changes})


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        (listing(), False),
        (listing(format="1"), True),
        (listing(ago=None), True),
        (listing(fingerprint=7), True),
        (listing(files=["x.c"]), True),
        (listing(files={"x.c": 3}), True),
        (listing(files={"x.c": hashlib.sha256(b"changed").hexdigest()}), True),
        (
            listing(files={"..": "", "": "", "sub": "", "a\0": "", "\ud800": "", "y" * 999: ""}),
            True,
        ),
    ],
)
def test_only_what_ago_wrote_and_nobody_changed_is_removed(tmp_path, text, stays):
    (tmp_path / "x.c").write_text("mine")
    (tmp_path / "sub").mkdir()
    (tmp_path / "manifest.json").write_text(text)
    export(tmp_path, overwrite=True)
    assert (tmp_path / "x.c").exists() == stays


@pytest.mark.parametrize("directory", [3, "", None, b"folder"])
def test_what_is_no_folder_is_refused(directory):
    net = ago.optimize(odd_graph())
    with pytest.raises(InputError, match=r"directory=.*: the path of a folder is expected"):
        net.export(directory)


def test_the_readme_tells_how_to_build_elsewhere(tmp_path):
    export_artifact(artifact("cortex-a76"), tmp_path)
    line = "make CROSS=aarch64-linux-gnu libraries\n"
    assert line in (tmp_path / "README.md").read_text()
    assert line in (tmp_path / "Makefile").read_text()
    export_artifact(artifact("portable"), tmp_path)
    assert "make CROSS" not in (tmp_path / "README.md").read_text()


APPLE = "arm64-apple-macos11"


@pytest.mark.parametrize(
    ("programs", "arguments", "compiles"),
    [
        (("cc", "clang", "clang-19"), (), "cc -std"),
        (("clang", "gcc", "clang-19"), (), "clang -std"),
        (("clang-9", "clang-18", "clang-19", "clang-format-20"), (), "clang-19 -std"),
        (("gcc", "clang-tidy-19"), (), "gcc -std"),
        (("cc", "mine"), ("CC=mine -m64",), "mine -m64 -std"),
        (("cc", "clang-18"), (f"CROSS={APPLE}",), f"clang-18 --target={APPLE} -std"),
        (("cc", "mine"), (f"CROSS={APPLE}", "CC=mine"), f"mine --target={APPLE} -std"),
    ],
)
def test_make_finds_a_compiler(folder, tmp_path, programs, arguments, compiles):
    """With programs that answer nothing but for which machine they compile."""
    machine = APPLE if any(APPLE in word for word in arguments) else "x86_64-linux-gnu"
    for name in programs:
        (tmp_path / name).write_text(f"#!/bin/sh\necho {machine}\n")
        (tmp_path / name).chmod(0o755)
    make = [compiler("make"), "-n", "-C", folder, *arguments]
    (tmp_path / "make").symlink_to(str(shutil.which("make")))
    printed = run(make, tmp_path, PATH=str(tmp_path))
    assert f"\n{compiles}" in f"\n{printed}"
    assert (f"lib{NAME}.dylib" in printed) == (machine == APPLE)
    assert (f"lib{NAME}.so" in printed) == (machine != APPLE)


def test_make_without_a_compiler_says_so(folder, tmp_path):
    (tmp_path / "make").symlink_to(compiler("/usr/bin/make"))
    command = [str(tmp_path / "make"), "-n", "-C", str(folder)]
    done = subprocess.run(
        command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "no C compiler in PATH; set CC" in done.stderr


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
    for form in ("file", "incbin", "array"):
        run(make, export(tmp_path, form))
        assert (tmp_path / f"lib{NAME}.a").stat().st_size > 0
        check_example(run([tmp_path / f"{NAME}_example", "2"], tmp_path))
    run([*make, "-q"], export(tmp_path, "array"))  # what did not change is not compiled again


@pytest.mark.parametrize("names", [CLANG, GCC], ids=["clang", "gcc"])
def test_make_compiles_again_what_another_export_changes(tmp_path, names):
    if shutil.which("make") is None:
        pytest.skip("no make here")
    make = ["make", "-s", f"CC={compiler(*names)}", "CFLAGS=-O0 -Wall -Wextra -Werror"]
    for count in (3, 70000, 5):  # main.c is the same each time, its buffers are not
        builder = ago.GraphBuilder("grows")
        shift = builder.constant(np.full(count, 2, np.float32))
        net = builder.build(builder.add(builder.input("x", (count,)), shift))
        compilation = compile_graph(net, Options(resolve_target("host")))
        export_artifact(compilation.artifact, tmp_path, weights="incbin")
        run(make, tmp_path)
        report = json.loads(run([tmp_path / "grows_example", "1"], tmp_path))
        assert report["output_0"][:2] == pytest.approx([1, 1 + 1 / 127])
    changes = {"grows.h": "main", "Makefile": "ago_cpu", "grows.weights": "grows_weights"}
    for changed, compiled in changes.items():
        run([*make, "-q"], tmp_path)
        (tmp_path / changed).touch()
        assert f"-o {compiled}.o" in run(["make", "-n"], tmp_path)
        run(make, tmp_path)


def test_a_model_without_elements_is_c11_without_warnings(tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    onnx.save(make_model(nodes, {"x": [0, 3]}, ["y"]), tmp_path / "nothing.onnx")
    ago.optimize(ago.load(tmp_path / "nothing.onnx")).export(tmp_path)
    flags, files = kernel_flags(tmp_path), (*model_files(tmp_path), "main.c")
    run([compiler(*GCC), *C_FLAGS, *flags, *files, "-o", "example"], tmp_path)
    assert json.loads(run([tmp_path / "example", "1"], tmp_path))["output_0"] == []


def test_cmake_builds_it_in_an_empty_environment(tmp_path):
    if shutil.which("cmake") is None:
        pytest.skip("no cmake here")
    folder = export(tmp_path / "folder", "incbin", threads=2)
    assert artifact(threads=2).parallel
    cc = f"-DCMAKE_C_COMPILER={compiler(*CLANG, *GCC)}"
    run(["cmake", "-S", folder, "-B", "build", cc], tmp_path)
    run(["cmake", "--build", "build"], tmp_path)
    check_example(run([tmp_path / "build" / f"{NAME}_example", "2"], tmp_path))
    assert (tmp_path / "build" / f"lib{NAME}.a").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="reads ELF")
@pytest.mark.parametrize("how", ["make", "cmake"])
def test_the_shared_library_needs_no_other_and_has_large_pages(tmp_path, how):
    elffile = pytest.importorskip("elftools.elf.elffile")
    folder, cc = export(tmp_path / "folder", "array"), compiler(*CLANG, *GCC)
    out = folder
    if how == "make":
        run([compiler("make"), "-s", f"CC={cc}", "libraries"], folder)
    else:
        out = tmp_path / "build"
        run([compiler("cmake"), "-S", folder, "-B", out, f"-DCMAKE_C_COMPILER={cc}"], tmp_path)
        run(["cmake", "--build", out, "--target", f"{NAME}_shared"], tmp_path)
    with open(out / f"lib{NAME}.so", "rb") as file:
        elf = elffile.ELFFile(file)
        assert {segment["p_align"] for segment in elf.iter_segments("PT_LOAD")} == {16384}
        dynamic = next(elf.iter_segments("PT_DYNAMIC"))
        assert not list(dynamic.iter_tags("DT_NEEDED"))
        named = [symbol for symbol in dynamic.iter_symbols() if symbol.name]
    assert all(symbol["st_shndx"] != "SHN_UNDEF" for symbol in named)
    assert {symbol.name for symbol in named} == {
        f"{NAME}_{name}" for name in ("init", "run", "step", "set_pool", "error_text", "weights")
    }
    check_library(out / f"lib{NAME}.so")


def check_library(path: Path) -> None:
    net, made = ago.optimize(graph()), artifact()
    workspace = aligned_array(made.workspace_bytes, np.uint8)
    session = Session(Library(path, NAME), 1, 2, aligned_bytes(made.weights_image), workspace)
    outputs = [np.empty(info.shape, np.float32) for info in made.outputs]
    session.run([pattern()], outputs)
    for output, expected in zip(outputs, net(pattern()), strict=True):
        assert np.array_equal(output, expected)


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
