"""Target descriptions: what the schedules and the code generator need to know of a CPU.

Read `Target` first. Targets are plain data: rules elsewhere look at lanes, registers and cache
sizes, never at a target's name. `resolve_target` turns a name, or "host", into one.

Figures of the named cores. `fma_latency` is the accumulate-to-accumulate latency of a vector FMA,
which Arm's guides print in parentheses where the core forwards the accumulator early.

* Software optimization guides by Arm: Cortex-A55 (EPM128372), Cortex-A72 (UAN 0016A), Cortex-A76
  (PJDOC-466751330-7215), Neoverse N1 (PJDOC-466751330-9707), Cortex-X1 (PJDOC-466751330-14955):
  throughput and latency of "ASIMD FP multiply accumulate" and of "Load vector reg, Q-form".
* Cortex-A53 has no public guide: LLVM's `AArch64SchedA53.td` and ncnn's note on A53 dual issue.
* Apple M1: D. Johnson, "Apple Microarchitecture Research", Firestorm P-core.
* Cache sizes are a build option of Arm cores; these are common boards: Raspberry Pi 3 (A53),
  Rockchip RK3588 (A55), Raspberry Pi 4 (A72), Raspberry Pi 5 (A76), Snapdragon 888 (X1), Graviton2
  (Neoverse N1).
* x86-64-v3 and v4 are psABI levels, not cores: AMD Zen 3 and Intel Ice Lake-SP stand for them
  (A. Fog, "Instruction tables"; Intel and AMD optimization manuals).
"""

from __future__ import annotations

import functools
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from ago.errors import InputError

Isa = Literal["neon", "avx512", "avx2", "portable"]
Arch = Literal["aarch64", "x86_64", "any"]

_KIB = 1024
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Target:
    """One CPU as the compiler sees it.

    Attributes:
        name: Name users give, such as `"cortex-a76"`.
        isa: Which intrinsic table generates code for it.
        arch: Instruction set family; `"any"` runs everywhere.
        cpu: The C compiler's name of the CPU (clang's spelling); empty for the compiler's default.
        lanes: float32 lanes of one vector register; 1 means scalar code.
        vector_registers: Architectural vector registers.
        fma_pipes: Vector FMA instructions issued a cycle.
        fma_latency: Cycles until an FMA's result can be accumulated again.
        load_pipes: Vector loads issued a cycle.
        l1_bytes: L1 data cache of one core, bytes.
        l2_bytes: L2 cache a core can use, bytes.
        l3_bytes: Last-level cache, bytes; 0 if there is none.
        line_bytes: Cache line, bytes.
    """

    name: str
    isa: Isa
    arch: Arch
    cpu: str
    lanes: int
    vector_registers: int
    fma_pipes: int
    fma_latency: int
    load_pipes: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    line_bytes: int = 64

    @property
    def multiplies_by_lane(self) -> bool:
        """Whether an FMA takes one lane of a vector as a factor, so that a load feeds many."""
        return self.isa == "neon"


def _neon(
    name: str,
    *,
    fma: tuple[int, int],
    loads: int,
    caches: tuple[int, int, int],
    line_bytes: int = 64,
) -> Target:
    """An AArch64 core: `fma` is (pipes, latency), `caches` is (L1, L2, L3) in bytes."""
    pipes, latency = fma
    l1, l2, l3 = caches
    return Target(
        name=name,
        isa="neon",
        arch="aarch64",
        cpu=name,
        lanes=4,
        vector_registers=32,
        fma_pipes=pipes,
        fma_latency=latency,
        load_pipes=loads,
        l1_bytes=l1,
        l2_bytes=l2,
        l3_bytes=l3,
        line_bytes=line_bytes,
    )


_ALL = (
    _neon("cortex-a53", fma=(1, 4), loads=1, caches=(32 * _KIB, 512 * _KIB, 0)),
    _neon("cortex-a55", fma=(1, 4), loads=1, caches=(32 * _KIB, 128 * _KIB, 3 * _MIB)),
    _neon("cortex-a72", fma=(2, 3), loads=1, caches=(32 * _KIB, 1 * _MIB, 0)),
    _neon("cortex-a76", fma=(2, 2), loads=2, caches=(64 * _KIB, 512 * _KIB, 2 * _MIB)),
    _neon("cortex-x1", fma=(4, 2), loads=3, caches=(64 * _KIB, 1 * _MIB, 4 * _MIB)),
    _neon(
        "apple-m1", fma=(4, 4), loads=3, caches=(128 * _KIB, 12 * _MIB, 8 * _MIB), line_bytes=128
    ),
    _neon("neoverse-n1", fma=(2, 2), loads=2, caches=(64 * _KIB, 1 * _MIB, 32 * _MIB)),
    Target(
        name="x86-64-v3",
        isa="avx2",
        arch="x86_64",
        cpu="x86-64-v3",
        lanes=8,
        vector_registers=16,
        fma_pipes=2,
        fma_latency=4,
        load_pipes=2,
        l1_bytes=32 * _KIB,
        l2_bytes=512 * _KIB,
        l3_bytes=32 * _MIB,
    ),
    Target(
        name="x86-64-v4",
        isa="avx512",
        arch="x86_64",
        cpu="x86-64-v4",
        lanes=16,
        vector_registers=32,
        fma_pipes=2,
        fma_latency=4,
        load_pipes=2,
        l1_bytes=48 * _KIB,
        l2_bytes=1280 * _KIB,
        l3_bytes=32 * _MIB,
    ),
    Target(
        name="portable",
        isa="portable",
        arch="any",
        cpu="",
        lanes=1,
        vector_registers=16,
        fma_pipes=2,
        fma_latency=4,
        load_pipes=2,
        l1_bytes=32 * _KIB,
        l2_bytes=256 * _KIB,
        l3_bytes=0,
    ),
)

TARGETS: Mapping[str, Target] = MappingProxyType({target.name: target for target in _ALL})
"""Every named target; "host" is not among them because it is detected."""

# The features of the psABI levels that generated code or `-march` relies on, by Linux's flag names.
_AVX2_FLAGS = frozenset({"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm"})
_AVX512_FLAGS = _AVX2_FLAGS | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}

# "CPU part" of /proc/cpuinfo for implementer 0x41 (Arm).
_ARM_PARTS = {
    0xD03: "cortex-a53",
    0xD05: "cortex-a55",
    0xD08: "cortex-a72",
    0xD0B: "cortex-a76",
    0xD0C: "neoverse-n1",
    0xD44: "cortex-x1",
}


def resolve_target(target: str | Target) -> Target:
    """Find a target by its name.

    Args:
        target: A name in `TARGETS`, `"host"` for this machine, or a `Target`, returned as it is.

    Returns:
        The description. For `"host"` it is named `"host"`, with the instruction set and the cache
        sizes detected and `cpu` a fixed level (`"x86-64-v3"`), so that binaries are reproducible.

    Raises:
        InputError: The name is unknown; the message lists the names.
    """
    if isinstance(target, Target):
        return target
    if target == "host":
        return detect_host()
    if target not in TARGETS:
        names = ", ".join(["host", *TARGETS])
        raise InputError(f"unknown target {target!r}; known targets: {names}")
    return TARGETS[target]


def host_arch() -> Arch:
    """Instruction set family of this machine; `"any"` if it is neither x86-64 nor AArch64."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        return "x86_64"
    if machine in ("aarch64", "arm64"):
        return "aarch64"
    return "any"


def runs_on_host(target: Target) -> bool:
    """Whether this machine can execute code compiled for `target`."""
    if target.isa == "portable":
        return True
    if target.arch != host_arch():
        return False
    if target.isa == "neon":
        return sys.platform != "darwin" or target.cpu in ("", "apple-m1")
    needed = _AVX512_FLAGS if target.isa == "avx512" else _AVX2_FLAGS
    return needed <= _x86_flags()


@functools.cache
def detect_host() -> Target:
    """Describe this machine: instruction set, core where it is a known one, and cache sizes."""
    base = _host_base()
    caches = _caches_macos() if sys.platform == "darwin" else _caches_sysfs()
    return replace(
        base,
        name="host",
        l1_bytes=caches.get(1, base.l1_bytes),
        l2_bytes=caches.get(2, base.l2_bytes),
        l3_bytes=caches.get(3, base.l3_bytes),
    )


def _host_base() -> Target:
    """The named target that stands for this machine."""
    arch = host_arch()
    if arch == "aarch64":
        return TARGETS["apple-m1"] if sys.platform == "darwin" else _arm_linux_base()
    if arch == "x86_64":
        flags = _x86_flags()
        if flags >= _AVX512_FLAGS:
            return TARGETS["x86-64-v4"]
        if flags >= _AVX2_FLAGS:
            return TARGETS["x86-64-v3"]
    return TARGETS["portable"]


def _arm_linux_base() -> Target:
    """The widest core of an Arm machine whose cores are all known, else a plain AArch64 one."""
    parts = {int(part, 16) for part in re.findall(r"CPU part\s*:\s*(0x[0-9a-f]+)", _cpuinfo())}
    if not parts or not parts <= _ARM_PARTS.keys():
        return replace(TARGETS["cortex-a76"], cpu="")
    cores = [TARGETS[_ARM_PARTS[part]] for part in sorted(parts)]
    return max(cores, key=lambda core: (core.fma_pipes, core.load_pipes))


@functools.cache
def _x86_flags() -> frozenset[str]:
    """Instruction set flags of an x86-64 machine by Linux's names; empty where they are unknown."""
    if sys.platform == "darwin":
        keys = ("features", "leaf7_features", "extfeatures")
        names = " ".join(_sysctl(f"machdep.cpu.{key}") for key in keys).lower()
        return frozenset(names.replace("lzcnt", "abm").split())
    match = re.search(r"^flags\s*:(.*)$", _cpuinfo(), re.MULTILINE)
    return frozenset(match.group(1).split()) if match else frozenset()


@functools.cache
def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _caches_sysfs(root: Path = Path("/sys/devices/system/cpu")) -> dict[int, int]:
    """Largest data or unified cache of each level over all cores, bytes by level."""
    sizes: dict[int, int] = {}
    for index in sorted(root.glob("cpu[0-9]*/cache/index[0-9]*")):
        try:
            level = int((index / "level").read_text())
            kind = (index / "type").read_text().strip()
            size = _parse_size((index / "size").read_text().strip())
        except (OSError, ValueError):
            continue  # a core that is offline, or a kernel that does not say
        if kind != "Instruction" and size > 0:
            sizes[level] = max(sizes.get(level, 0), size)
    return sizes


def _parse_size(text: str) -> int:
    """Bytes of a size as sysfs writes it: `32K`, `2M`, `512`."""
    units = {"K": _KIB, "M": _MIB}
    return int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text)


def _caches_macos() -> dict[int, int]:
    """Caches of the performance cores, bytes by level; level 3 exists on Intel Macs alone."""
    sizes: dict[int, int] = {}
    for level, key in ((1, "l1dcachesize"), (2, "l2cachesize"), (3, "l3cachesize")):
        text = _sysctl(f"hw.perflevel0.{key}") or _sysctl(f"hw.{key}")
        if text.isdigit() and int(text) > 0:
            sizes[level] = int(text)
    return sizes


def _sysctl(key: str) -> str:
    """The value of a macOS kernel variable; empty if there is none."""
    try:
        result = subprocess.run(
            ["/usr/sbin/sysctl", "-n", key], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return result.stdout.strip()
