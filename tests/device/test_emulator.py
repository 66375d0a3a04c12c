"""Emulated AArch64: results, exact instruction counts, and accesses that must not pass."""

from pathlib import Path

import numpy as np
import pytest

from ago.errors import DeviceError, ToolchainError
from ago.runtime import emulator as emulator_module
from ago.runtime import machine as machine_module
from ago.runtime.build import build
from ago.runtime.emulator import Emulator
from ago.runtime.toolchain import find_toolchain
from ago.target import TARGETS, resolve_target
from tests.support.small_model import expected, small_artifact, some_input

pytest.importorskip("unicorn")

A76 = TARGETS["cortex-a76"]
SMALL = small_artifact(A76)
SHAPES = [(1, 5)]


def assemble(directory: Path, body: str) -> Emulator:
    """A library whose function `entry_run` is written in assembler.

    `entry_init` keeps weights and workspace where an `ago_context` has them.
    """
    source = directory / "entry.S"
    init = "entry_init:\n    stp x1, x3, [x0, #8]\n    mov w0, #0\n    ret\n"
    names = "    .globl entry_init\n    .globl entry_run\n"
    source.write_text(f"    .text\n{names}{init}entry_run:\n{body}\n")
    toolchain = find_toolchain(A76)
    objects = toolchain.compile_objects([source], directory, A76)
    return Emulator(toolchain.link_shared(objects, directory / "entry.so", A76))


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Emulator:
    return Emulator(build(SMALL, "shared", tmp_path_factory.mktemp("small") / "small.so"))


def test_every_toolchain(tmp_path, toolchain):
    emulator = Emulator(build(SMALL, "shared", tmp_path / "small.so", toolchain))
    run = emulator.run("small", [some_input()], SHAPES, SMALL.weights_image, SMALL.workspace_bytes)
    assert np.array_equal(run.outputs[0], expected(some_input()))
    assert run.instructions > 2 * 35  # a load and an fma for each weight
    assert run.seconds > 0


@pytest.mark.parametrize("name", [n for n, t in TARGETS.items() if t.arch == "aarch64"])
def test_every_aarch64_target(tmp_path, name):
    if name == "apple-m1" and resolve_target("host").cpu == "apple-m1":
        pytest.skip("on a Mac this target is built in the Mac's own format")
    artifact = small_artifact(TARGETS[name])
    emulator = Emulator(build(artifact, "shared", tmp_path / "small.so"))
    run = emulator.run("small", [some_input()], SHAPES, SMALL.weights_image, 64)
    assert np.array_equal(run.outputs[0], expected(some_input()))


@pytest.mark.parametrize("iterations", [1, 7, 1000])
def test_count_equals_the_count_by_hand(tmp_path, iterations):
    loop = f"""
        mov x9, #{iterations}
        mov x10, x30
    1:  bl leaf
        subs x9, x9, #1
        b.ne 1b
        mov x30, x10
        mov w0, #0
        ret
    leaf:
        cbz x9, 2f
        add x11, x11, #1
    2:  ret"""
    run = assemble(tmp_path, loop).run("entry", [], [], b"", 0)
    # Before the loop 2, a round 3 and the leaf's 3, after it 3.
    assert run.instructions == 2 + 6 * iterations + 3


def test_repeated_calls_count_the_same(small):
    counts = {
        small.run("small", [some_input()], SHAPES, SMALL.weights_image, 64).instructions
        for _ in range(3)
    }
    assert len(counts) == 1


def test_progress_is_reported(tmp_path):
    loop = "    mov x9, #0x2000000\n1:  subs x9, x9, #1\n    b.ne 1b\n    mov w0, #0\n    ret"
    seen = []
    run = assemble(tmp_path, loop).run("entry", [], [], b"", 0, progress=seen.append)
    assert run.instructions == 1 + 2 * 0x2000000 + 2
    assert seen == sorted(seen)
    assert seen[-1] == run.instructions


def test_without_a_compiler_nothing_is_counted(small, monkeypatch):
    def no_compiler(_target):
        raise ToolchainError("none")

    monkeypatch.setattr(machine_module, "find_toolchain", no_compiler)
    run = small.run("small", [some_input()], SHAPES, SMALL.weights_image, 64)
    assert run.instructions is None
    assert np.array_equal(run.outputs[0], expected(some_input()))


class TestRefusals:
    def test_reading_beyond_the_weights(self, tmp_path):
        emulator = assemble(tmp_path, "    ldr x9, [x0, #8]\n    ldr w9, [x9, #64]\n    ret")
        with pytest.raises(DeviceError, match=r"read .*, 0 bytes after the end of the weights"):
            emulator.run("entry", [], [], bytes(64), 0)

    def test_weights_that_are_cut_off(self, small):
        with pytest.raises(DeviceError, match="small_init returned error code 6"):
            small.run("small", [some_input()], SHAPES, SMALL.weights_image[:64], 64)

    def test_reading_beyond_an_input(self, small):
        with pytest.raises(DeviceError, match=r"read .*, 0 bytes after the end of input 0"):
            small.run("small", [some_input()[:, :4]], SHAPES, SMALL.weights_image, 64)

    def test_writing_beyond_an_output(self, small):
        with pytest.raises(DeviceError, match=r"wrote to .*, 0 bytes after the end of output 0"):
            small.run("small", [some_input()], [(1, 4)], SMALL.weights_image, 64)

    @pytest.mark.parametrize(
        ("table", "name"), [("ldr x9, [x1]", "input 0"), ("ldr x9, [x0, #8]", "the weights")]
    )
    def test_writing_to_what_is_constant(self, tmp_path, table, name):
        emulator = assemble(tmp_path, f"    {table}\n    str wzr, [x9, #4]\n    ret")
        with pytest.raises(DeviceError, match=f"wrote to .* 4 bytes into {name}, which may not"):
            emulator.run("entry", [some_input()], [], bytes(64), 0)

    def test_reading_what_was_never_written(self, tmp_path):
        load = "    ldr x9, [x2]\n    ldr x10, [x0, #16]\n    ldr s0, [x10]\n"
        copy = f"{load}    str s0, [x9]\n    mov w0, #0\n    ret"
        run = assemble(tmp_path, copy).run("entry", [], [(2,)], b"", 64)
        assert np.isnan(run.outputs[0]).all()

    def test_unknown_instruction(self, tmp_path):
        with pytest.raises(DeviceError, match="stopped at offset"):
            assemble(tmp_path, "    udf #0").run("entry", [], [], b"", 0)

    def test_error_code(self, tmp_path):
        with pytest.raises(DeviceError, match="entry_run returned error code -2"):
            assemble(tmp_path, "    mov w0, #-2\n    ret").run("entry", [], [], b"", 0)

    def test_time_limit(self, tmp_path):
        with pytest.raises(DeviceError, match=r"did not end in 0\.3 seconds"):
            assemble(tmp_path, "    b entry_run").run("entry", [], [], b"", 0, timeout_seconds=0.3)

    def test_missing_function(self, small):
        with pytest.raises(DeviceError, match=r"no function 'big_init'; it exports: small_"):
            small.run("big", [], [], b"", 0)

    def test_missing_file(self, tmp_path):
        with pytest.raises(DeviceError, match="cannot emulate"):
            Emulator(tmp_path / "missing.so")

    def test_missing_unicorn(self, small, monkeypatch):
        def missing(name):
            raise ImportError(name)

        monkeypatch.setattr(machine_module.importlib, "import_module", missing)
        with pytest.raises(DeviceError, match=r'pip install "ago-compiler\[emu\]"'):
            emulator_module.Emulator(small.path)
