"""`tools/cross_build.py`: from a model file to binaries for a device."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

from tools.cross_build import main, parse_shapes

ROOT = Path(__file__).resolve().parents[2]


def write_model(path: Path) -> Path:
    """A 3x3 convolution with 3 and 5 channels, a pointwise one, ReLU6 and a global average."""
    rng = np.random.default_rng(0)
    weights = {
        "w1": rng.standard_normal((5, 3, 3, 3)),
        "b1": rng.standard_normal(5),
        "w2": rng.standard_normal((9, 5, 1, 1)),
        "six": np.array(6.0),
        "zero": np.array(0.0),
    }
    nodes = [
        helper.make_node("Conv", ["image", "w1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Clip", ["c1", "zero", "six"], ["a1"], "relu6"),
        helper.make_node("Conv", ["a1", "w2"], ["c2"], "conv2"),
        helper.make_node("GlobalAveragePool", ["c2"], ["mean"], "pool"),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 7, 9])],
        [helper.make_tensor_value_info("mean", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return write_model(tmp_path_factory.mktemp("model") / "tiny.onnx")


def cross_build(model: Path, out: Path, *arguments: str) -> dict[str, object]:
    result = CliRunner().invoke(main, [str(model), "--out", str(out), *arguments])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout.splitlines()[-1])


@pytest.mark.parametrize("shape", [None, "image=2,3,14,5"], ids=["as it is", "reshaped"])
def test_emulated(tmp_path, model, shape):
    pytest.importorskip("unicorn")
    arguments = ["--shape", shape] if shape else []
    report = cross_build(model, tmp_path, "--target", "cortex-a76", "--run", "emulated", *arguments)
    assert report["max_err"] < 1e-5
    multiply_adds = 2 * 14 * 5 * (5 * 27 + 9 * 5) if shape else 7 * 9 * (5 * 27 + 9 * 5)
    assert report["instructions"] > multiply_adds / 4
    assert report["target"] == "cortex-a76"
    assert report["run"] == "emulated"
    assert report["workspace_bytes"] > 0
    assert report["weights_bytes"] >= 4 * (5 * 27 + 5 + 9 * 5)


@pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="needs qemu-aarch64")
def test_qemu(tmp_path, model):
    report = cross_build(model, tmp_path, "--run", "qemu", "--json")
    assert report["max_err"] < 1e-5
    assert report["instructions"] is None


def test_directory_is_complete(tmp_path, model):
    report = cross_build(model, tmp_path)
    assert report["max_err"] is None
    name = report["model"]
    for file in (f"lib{name}.so", f"{name}.h", "ago_runtime.h", f"{name}.weights", "src/Makefile"):
        assert (tmp_path / file).exists(), file
    assert report["binary_bytes"] == (tmp_path / f"lib{name}.so").stat().st_size
    assert report["program_bytes"] == (tmp_path / f"{name}_bench").stat().st_size
    assert report["weights_bytes"] == (tmp_path / f"{name}.weights").stat().st_size
    assert f"{name}_run" in (tmp_path / f"{name}.h").read_text()


def test_android(tmp_path, model):
    """16 KB pages, nothing needed of the system: what newer devices load."""
    elffile = pytest.importorskip("elftools.elf.elffile")
    report = cross_build(model, tmp_path, "--os", "android", "--kind", "so")
    assert (report["system"], report["program"]) == ("android", None)
    with open(report["library"], "rb") as file:
        elf = elffile.ELFFile(file)
        segments = list(elf.iter_segments("PT_LOAD"))
        assert segments
        assert all(segment["p_align"] == 16384 for segment in segments)
        dynamic = next(elf.iter_segments("PT_DYNAMIC"))
        assert not list(dynamic.iter_tags("DT_NEEDED"))


@pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="needs qemu-aarch64")
def test_android_program_runs(tmp_path, model):
    report = cross_build(model, tmp_path, "--os", "android", "--kind", "exe", "--run", "qemu")
    assert report["max_err"] < 1e-5


@pytest.mark.parametrize("variable", ["ANDROID_NDK_HOME", "ANDROID_NDK_ROOT"])
def test_the_ndk_s_clang(tmp_path, model, monkeypatch, variable):
    """With a folder laid out as the NDK is, whose clang is this machine's and keeps a log."""
    clang = shutil.which("clang") or shutil.which("clang-19")
    if clang is None or not (shutil.which("ld.lld") or shutil.which("ld.lld-19")):
        pytest.skip("needs clang and lld")
    for name in ("ANDROID_NDK_HOME", "ANDROID_NDK_ROOT"):
        monkeypatch.delenv(name, raising=False)
    command = ("--os", "android", "--compiler", "ndk", "--kind", "so", "--kind", "a")
    missing = CliRunner().invoke(main, [str(model), "--out", str(tmp_path / "x"), *command])
    assert "no Android NDK: ANDROID_NDK_HOME or ANDROID_NDK_ROOT must name" in missing.stderr
    programs = tmp_path / "ndk/toolchains/llvm/prebuilt/linux-x86_64/bin"
    programs.mkdir(parents=True)
    log = tmp_path / "log"
    (programs / "clang").write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {clang} "$@"\n')
    (programs / "clang").chmod(0o755)
    monkeypatch.setenv(variable, str(tmp_path / "ndk"))
    report = cross_build(model, tmp_path / "out", *command)
    assert Path(str(report["library"])).stat().st_size == report["binary_bytes"]
    assert Path(str(report["archive"])).exists()
    assert "--target=aarch64-linux-android24" in log.read_text()


@pytest.mark.parametrize("compiler", ["clang", "zig"])
def test_each_compiler_makes_each_kind(tmp_path, model, compiler):
    """For Linux and Android: libraries that need no other, whose pages are of 16 KB."""
    elffile = pytest.importorskip("elftools.elf.elffile")
    if compiler == "zig":
        pytest.importorskip("ziglang")
    elif not (shutil.which("ld.lld") or shutil.which("ld.lld-19")):
        pytest.skip("needs clang and lld")
    kinds = [word for kind in ("so", "a", "exe", "source") for word in ("--kind", kind)]
    for system in ("linux", "android"):
        out = tmp_path / system
        report = cross_build(model, out, "--os", system, "--compiler", compiler, *kinds)
        assert report["system"] == system
        for path in (report["library"], report["program"]):
            with open(path, "rb") as file:
                elf = elffile.ELFFile(file)
                assert elf["e_machine"] == "EM_AARCH64"
                dynamic = list(elf.iter_segments("PT_DYNAMIC"))
                assert not [tag for part in dynamic for tag in part.iter_tags("DT_NEEDED")]
                if path == report["library"]:
                    pages = {part["p_align"] for part in elf.iter_segments("PT_LOAD")}
                    assert pages == {16384}
        assert Path(str(report["archive"])).read_bytes().startswith(b"!<arch>\n")
        assert (Path(str(report["sources"])) / "Makefile").exists()


def test_macos(tmp_path, model):
    pytest.importorskip("ziglang")
    kinds = ("--kind", "so", "--kind", "a", "--kind", "exe")
    report = cross_build(model, tmp_path, "--os", "macos", "--target", "apple-m1", *kinds)
    library = Path(str(report["library"]))
    assert library.suffix == ".dylib"
    for path in (library, Path(str(report["program"]))):
        assert path.read_bytes()[:4] == bytes.fromhex("cffaedfe")  # Mach-O, 64 bits
    assert Path(str(report["archive"])).read_bytes().startswith(b"!<arch>\n")


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler called cc")
def test_a_program_is_linked_with_the_static_library(tmp_path, model):
    report = cross_build(model, tmp_path, "--target", "host", "--kind", "a")
    program = tmp_path / "example"
    example = [report["sources"] + "/main.c", f"-I{tmp_path}", f"-I{report['sources']}"]
    subprocess.run(["cc", *example, report["archive"], "-o", program], check=True)
    done = subprocess.run([program, "2"], cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(done.stdout)["model"] == report["model"]


def test_sources_alone(tmp_path, model):
    report = cross_build(model, tmp_path, "--kind", "source")
    assert [report[kind] for kind in ("library", "archive", "program")] == [None] * 3
    assert (Path(str(report["sources"])) / "manifest.json").exists()


def test_as_a_script(tmp_path, model):
    command = [sys.executable, "tools/cross_build.py", str(model), "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "bytes of code for cortex-a76" in lines[0]
    assert json.loads(lines[-1])["target"] == "cortex-a76"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "pentium"], "unknown target 'pentium'; known targets: host, cortex-a53"),
        (["--shape", "image=2,3,x"], "is not of the form NAME=2,3,112,112"),
        (["--shape", "other=2,3,7,9"], "other"),
        (["--run", "jtag"], "'jtag' names no device: expected one of local, qemu"),
    ],
)
def test_mistakes_are_named(tmp_path, model, arguments, message, monkeypatch):
    for name in ("ANDROID_NDK_HOME", "ANDROID_NDK_ROOT"):
        monkeypatch.delenv(name, raising=False)
    result = CliRunner().invoke(main, [str(model), "--out", str(tmp_path), *arguments])
    assert result.exit_code != 0
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_shapes():
    assert parse_shapes(("x=1", "a=b=2,3")) == {"x": (1,), "a=b": (2, 3)}
    for wrong in ("x", "x=", "=1,2", "x=1,,2", "x=1.5"):
        with pytest.raises(click.BadParameter, match="NAME=2,3,112,112"):
            parse_shapes((wrong,))
