"""Named targets and host detection."""

import re

import pytest

from ago import target as target_module
from ago.errors import InputError
from ago.target import TARGETS, Target, detect_host, resolve_target, runs_on_host

ALL_NAMES = [
    "cortex-a53",
    "cortex-a55",
    "cortex-a72",
    "cortex-a76",
    "cortex-x1",
    "apple-m1",
    "neoverse-n1",
    "x86-64-v3",
    "x86-64-v4",
    "portable",
]


@pytest.fixture
def fresh_detection():
    """Forget what was detected, before and after a test that pretends to be another machine."""
    cached = (target_module.detect_host, target_module._x86_flags, target_module._cpuinfo)
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


def pretend(monkeypatch, machine: str, cpuinfo: str, system: str = "linux") -> None:
    monkeypatch.setattr(target_module.platform, "machine", lambda: machine)
    monkeypatch.setattr(target_module.sys, "platform", system)
    monkeypatch.setattr(target_module, "_cpuinfo", lambda: cpuinfo)
    monkeypatch.setattr(target_module, "_caches_sysfs", dict)


def test_every_promised_name_is_there():
    assert list(TARGETS) == ALL_NAMES


@pytest.mark.parametrize("name", ALL_NAMES)
def test_figures_are_consistent(name):
    target = TARGETS[name]
    assert resolve_target(name) is target
    assert target.name == name
    expected = {"neon": (4, 32), "avx2": (8, 16), "avx512": (16, 32), "portable": (1, 16)}
    assert (target.lanes, target.vector_registers) == expected[target.isa]
    assert target.l1_bytes < target.l2_bytes
    assert target.l1_bytes % target.line_bytes == 0
    assert min(target.fma_pipes, target.fma_latency, target.load_pipes) >= 1


def test_a_target_resolves_to_itself():
    target = TARGETS["cortex-a55"]
    assert resolve_target(target) is target


def test_unknown_name_lists_the_names():
    with pytest.raises(InputError, match=re.escape("unknown target 'pentium'")) as caught:
        resolve_target("pentium")
    for name in ["host", *ALL_NAMES]:
        assert name in str(caught.value)


def test_this_machine_runs_its_own_target():
    host = resolve_target("host")
    assert host.name == "host"
    assert host is detect_host()
    assert runs_on_host(host)
    assert runs_on_host(TARGETS["portable"])


@pytest.mark.usefixtures("fresh_detection")
class TestDetection:
    V3 = "flags\t\t: fpu sse2 avx2 fma bmi1 bmi2 f16c movbe abm\n"
    V4 = V3.rstrip() + " avx512f avx512bw avx512cd avx512dq avx512vl\n"

    @pytest.mark.parametrize(
        ("cpuinfo", "isa", "cpu"),
        [
            (V4, "avx512", "x86-64-v4"),
            (V3, "avx2", "x86-64-v3"),
            (V4.replace("avx512dq ", ""), "avx2", "x86-64-v3"),
            (V3.replace("fma ", ""), "portable", ""),
            ("", "portable", ""),
        ],
    )
    def test_x86(self, monkeypatch, cpuinfo, isa, cpu):
        pretend(monkeypatch, "x86_64", cpuinfo)
        host = detect_host()
        assert (host.name, host.isa, host.cpu) == ("host", isa, cpu)
        assert runs_on_host(TARGETS["x86-64-v4"]) == (isa == "avx512")
        assert runs_on_host(TARGETS["x86-64-v3"]) == (isa in ("avx2", "avx512"))
        assert not runs_on_host(TARGETS["cortex-a76"])

    @pytest.mark.parametrize(
        ("parts", "cpu"),
        [
            (["0xd05", "0xd0b"], "cortex-a76"),
            (["0xd05"], "cortex-a55"),
            (["0xd05", "0xd0b", "0xd44"], "cortex-x1"),
            (["0xd05", "0xfff"], ""),
            ([], ""),
        ],
    )
    def test_arm_linux(self, monkeypatch, parts, cpu):
        pretend(monkeypatch, "aarch64", "".join(f"CPU part\t: {part}\n" for part in parts))
        host = detect_host()
        assert (host.name, host.isa, host.cpu) == ("host", "neon", cpu)
        assert runs_on_host(TARGETS["cortex-a76"])
        assert not runs_on_host(TARGETS["x86-64-v3"])

    def test_apple(self, monkeypatch):
        values = {"hw.perflevel0.l1dcachesize": "131072", "hw.perflevel0.l2cachesize": "16777216"}
        pretend(monkeypatch, "arm64", "", system="darwin")
        monkeypatch.setattr(target_module, "_sysctl", lambda key: values.get(key, ""))
        host = detect_host()
        assert (host.isa, host.cpu, host.l2_bytes) == ("neon", "apple-m1", 16777216)

    def test_intel_mac(self, monkeypatch):
        values = {
            "machdep.cpu.features": "FPU SSE2 FMA MOVBE F16C",
            "machdep.cpu.leaf7_features": "BMI1 AVX2 BMI2",
            "machdep.cpu.extfeatures": "SYSCALL LZCNT",
        }
        pretend(monkeypatch, "x86_64", "", system="darwin")
        monkeypatch.setattr(target_module, "_sysctl", lambda key: values.get(key, ""))
        assert detect_host().cpu == "x86-64-v3"

    def test_another_architecture_gets_portable_code(self, monkeypatch):
        pretend(monkeypatch, "riscv64", "")
        assert detect_host().isa == "portable"


def test_cache_sizes_come_from_sysfs(tmp_path):
    def describe(core: str, index: str, level: str, kind: str, size: str) -> None:
        directory = tmp_path / core / "cache" / index
        directory.mkdir(parents=True)
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (directory / name).write_text(f"{text}\n")

    describe("cpu0", "index0", "1", "Data", "32K")
    describe("cpu0", "index1", "1", "Instruction", "64K")
    describe("cpu0", "index2", "2", "Unified", "128K")
    describe("cpu4", "index0", "1", "Data", "64K")
    describe("cpu4", "index2", "2", "Unified", "2M")
    describe("cpu5", "index2", "2", "Unified", "unknown")
    assert target_module._caches_sysfs(tmp_path) == {1: 64 * 1024, 2: 2 * 1024 * 1024}


def test_target_is_a_value():
    assert isinstance(hash(TARGETS["portable"]), int)
    assert isinstance(resolve_target("portable"), Target)
