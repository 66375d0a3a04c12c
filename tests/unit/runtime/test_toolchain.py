"""Finding a compiler, its flags, its failures."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from ago.errors import ToolchainError
from ago.runtime import platforms
from ago.runtime import toolchain as toolchain_module
from ago.runtime.toolchain import Toolchain, describe_toolchain, find_toolchain
from ago.target import TARGETS, resolve_target

PORTABLE = TARGETS["portable"]
A76 = TARGETS["cortex-a76"]


@pytest.fixture
def path(tmp_path, monkeypatch):
    """An empty PATH, and no compiler named in the environment."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.delenv("AGO_CC", raising=False)
    return directory


def fake_compiler(directory: Path, name: str, version: str, lld: str = "ld.lld") -> Path:
    """A program that answers as a compiler would, and compiles nothing."""
    program = directory / name
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *print-prog-name*) echo {lld};; *) echo "{version}";; esac\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def without_zig(monkeypatch) -> None:
    monkeypatch.setattr(toolchain_module, "zig_command", lambda: None)


class TestFinding:
    def test_plain_clang_comes_first(self, path):
        fake_compiler(path, "clang-21", "clang version 21.0.0")
        plain = fake_compiler(path, "clang", "Debian clang version 16.0.6")
        found = find_toolchain()
        assert found == Toolchain((str(plain),), "clang", "Debian clang version 16.0.6")

    def test_then_the_highest_number(self, path):
        fake_compiler(path, "clang-9", "clang version 9.0.0")
        newest = fake_compiler(path, "clang-19", "clang version 19.1.7")
        fake_compiler(path, "clang-format-20", "clang-format version 20")
        assert find_toolchain().command == (str(newest),)

    def test_the_environment_comes_before_all(self, path, monkeypatch):
        fake_compiler(path, "clang", "clang version 16.0.6")
        mine = fake_compiler(path, "my-cc", "gcc (Debian 12.2.0) 12.2.0")
        monkeypatch.setenv("AGO_CC", str(mine))
        assert find_toolchain() == Toolchain((str(mine),), "gcc", "gcc (Debian 12.2.0) 12.2.0")

    def test_the_environment_may_give_arguments(self, path, monkeypatch):
        zig = fake_compiler(path, "zig", "clang version 22.1.8")
        monkeypatch.setenv("AGO_CC", f"{zig} cc")
        assert find_toolchain(A76) == Toolchain((str(zig), "cc"), "zig", "clang version 22.1.8")

    def test_a_wrong_environment_is_an_error(self, path, monkeypatch):
        fake_compiler(path, "clang", "clang version 16.0.6")
        monkeypatch.setenv("AGO_CC", str(path / "missing"))
        with pytest.raises(ToolchainError, match=r"cannot run the C compiler .*missing"):
            find_toolchain()

    def test_a_host_compiler_cannot_cross_compile(self, path, monkeypatch):
        monkeypatch.setattr(toolchain_module, "host_arch", lambda: "x86_64")
        monkeypatch.setenv("AGO_CC", str(fake_compiler(path, "gcc", "gcc 12.2.0")))
        assert find_toolchain(PORTABLE).kind == "gcc"
        with pytest.raises(ToolchainError, match="compiles for this machine alone, not for cortex"):
            find_toolchain(A76)

    def test_clang_without_lld_is_passed_over_for_another_machine(self, path, monkeypatch):
        monkeypatch.setattr(toolchain_module, "host_arch", lambda: "x86_64")
        without = fake_compiler(path, "clang", "clang version 16.0.6")
        linker = path / "ld.lld"
        complete = fake_compiler(path, "clang-15", "clang version 15.0.0", str(linker))
        assert find_toolchain(PORTABLE).command == (str(without),)
        assert find_toolchain(A76).command == (str(complete),)
        complete.unlink()
        without_zig(monkeypatch)
        with pytest.raises(ToolchainError, match="bin/clang has no lld to link for aarch64"):
            find_toolchain(A76)

    def test_zig_is_the_last_resort(self, path):
        pytest.importorskip("ziglang")
        found = find_toolchain(A76)
        assert found.kind == "zig"
        assert found.command[-1] == "cc"

    def test_zig_needs_no_writable_home(self, path, monkeypatch, tmp_path):
        pytest.importorskip("ziglang")
        (tmp_path / "file").write_text("in the way")
        monkeypatch.setenv("HOME", str(tmp_path / "file"))
        monkeypatch.setenv("AGO_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.delenv("ZIG_GLOBAL_CACHE_DIR", raising=False)
        describe_toolchain.cache_clear()
        source = tmp_path / "x.c"
        source.write_text("int x;\n")
        assert find_toolchain().compile_objects([source], tmp_path, A76)[0].exists()

    def test_none_says_how_to_get_one(self, path, monkeypatch):
        without_zig(monkeypatch)
        with pytest.raises(ToolchainError) as caught:
            find_toolchain()
        for way in ('pip install "ago-compiler[cc]"', "apt install", "brew install", "AGO_CC"):
            assert way in str(caught.value)


class TestFlags:
    CLANG = Toolchain(("clang",), "clang", "clang version 19")
    ZIG = Toolchain(("zig", "cc"), "zig", "clang version 22")

    @pytest.fixture(autouse=True)
    def x86_host(self, monkeypatch):
        monkeypatch.setattr(platforms, "host_arch", lambda: "x86_64")
        monkeypatch.setattr(toolchain_module.sys, "platform", "linux")

    def test_aarch64(self):
        assert self.CLANG._target_flags(A76) == ["--target=aarch64-linux-gnu", "-mcpu=cortex-a76"]
        assert self.ZIG._target_flags(A76) == ["-target", "aarch64-linux-musl", "-mcpu=cortex_a76"]

    def test_x86(self):
        v4 = TARGETS["x86-64-v4"]
        assert self.CLANG._target_flags(v4) == ["-march=x86-64-v4", "-mprefer-vector-width=512"]
        assert self.ZIG._target_flags(v4) == ["-mcpu=x86_64_v4", "-mprefer-vector-width=512"]
        assert self.CLANG._target_flags(TARGETS["x86-64-v3"]) == ["-march=x86-64-v3"]

    def test_portable(self):
        assert self.CLANG._target_flags(PORTABLE) == []

    def test_on_a_mac_cortex_means_a_linux_board(self, monkeypatch):
        monkeypatch.setattr(platforms, "host_arch", lambda: "aarch64")
        monkeypatch.setattr(toolchain_module.sys, "platform", "darwin")
        assert "--target=aarch64-linux-gnu" in self.CLANG._target_flags(A76)
        assert self.CLANG._target_flags(TARGETS["apple-m1"]) == ["-mcpu=apple-m1"]
        assert self.CLANG.needs_no_libc(A76)
        assert not self.CLANG.needs_no_libc(TARGETS["apple-m1"])

    def test_fingerprint_tells_compilers_targets_and_flags_apart(self, monkeypatch):
        monkeypatch.delenv("AGO_CFLAGS", raising=False)
        prints = {tc.fingerprint(t) for tc in (self.CLANG, self.ZIG) for t in (A76, PORTABLE)}
        assert len(prints) == 4
        monkeypatch.setenv("AGO_CFLAGS", "-g")
        assert self.CLANG.fingerprint(A76) not in prints


class TestCompiling:
    def test_objects_keep_the_order_of_the_sources(self, tmp_path, toolchain):
        sources = []
        for index in range(5):
            source = tmp_path / f"unit{index}.c"
            source.write_text(f"int f{index}(void);\nint f{index}(void) {{ return {index}; }}\n")
            sources.append(source)
        objects = toolchain.compile_objects(sources, tmp_path, PORTABLE, jobs=2)
        assert [path.name for path in objects] == [f"unit{index}.c.o" for index in range(5)]
        assert all(path.stat().st_size > 0 for path in objects)

    def test_an_error_carries_command_and_messages(self, tmp_path, toolchain):
        source = tmp_path / "broken.c"
        source.write_text("int f(void) { return undeclared_thing; }\n")
        with pytest.raises(ToolchainError) as caught:
            toolchain.compile_objects([source], tmp_path, PORTABLE)
        text = str(caught.value)
        assert "exit code 1" in text
        assert f"-c {source}" in text
        assert "undeclared_thing" in text

    def test_long_errors_are_cut(self, tmp_path, toolchain):
        source = tmp_path / "broken.c"
        source.write_text("".join(f"unknown_type_{i} variable_{i};\n" for i in range(60)))
        with pytest.raises(ToolchainError, match=r"\.\.\. and \d+ lines more"):
            toolchain.compile_objects([source], tmp_path, PORTABLE)

    @pytest.mark.parametrize("target", [resolve_target("host"), A76], ids=["host", "cortex-a76"])
    def test_undefined_symbols_do_not_link(self, tmp_path, toolchain, target):
        source = tmp_path / "calls.c"
        source.write_text('int printf(const char *, ...);\nint f(void) { return printf("x"); }\n')
        objects = toolchain.compile_objects([source], tmp_path, target)
        with pytest.raises(ToolchainError, match=r"undefined symbol|undefined reference"):
            toolchain.link_shared(objects, tmp_path / "out.so", target)

    def test_a_compiler_that_vanished(self, tmp_path):
        gone = Toolchain((str(tmp_path / "gone"),), "clang", "clang version 1")
        source = tmp_path / "x.c"
        source.write_text("int x;\n")
        with pytest.raises(ToolchainError, match=r"cannot run .*gone"):
            gone.compile_objects([source], tmp_path, PORTABLE)


def test_version_is_asked_once(tmp_path):
    log = tmp_path / "log"
    program = tmp_path / "clang"
    program.write_text(f"#!/bin/sh\necho x >> {log}\necho clang version 1\n")
    program.chmod(0o755)
    command = (str(program),)
    assert describe_toolchain(command) is describe_toolchain(command)
    assert log.read_text() == "x\n"


@pytest.mark.skipif(not shutil.which("false"), reason="needs the program `false`")
def test_what_is_no_compiler():
    with pytest.raises(ToolchainError, match="--version` failed"):
        describe_toolchain((str(shutil.which("false")),))


def test_extra_flags_come_last(tmp_path, monkeypatch, toolchain):
    monkeypatch.setenv("AGO_CFLAGS", "-DANSWER=42 -Wno-unused")
    source = tmp_path / "x.c"
    source.write_text('_Static_assert(ANSWER == 42, "flag lost");\nint x;\n')
    assert toolchain.compile_objects([source], tmp_path, PORTABLE)[0].exists()
    assert os.environ["AGO_CFLAGS"]
