"""Platforms that binaries are made for: how compilers name them, and which one this machine is.

Read `triple` first.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Literal

from ago.target import Target, host_arch

Kind = Literal["clang", "zig", "gcc"]

System = Literal["linux", "android", "macos"]
"""An operating system that binaries are made for."""

_PLATFORMS: Mapping[Kind, Mapping[System, str]] = {
    "clang": {"linux": "linux-gnu", "android": "linux-android24", "macos": "apple-macos11"},
    "zig": {"linux": "linux-musl", "android": "linux-android", "macos": "macos"},
}
"""What follows the architecture in the name of a platform."""


def host_system() -> System:
    """The operating system of this machine."""
    return "macos" if sys.platform == "darwin" else "linux"


def triple(kind: Kind, target: Target, system: System) -> str:
    """The name by which a family of compilers knows a target's CPU under an operating system."""
    platform = _PLATFORMS["zig" if kind == "zig" else "clang"][system]
    apple = platform.startswith("apple") and target.arch == "aarch64"
    return f"{'arm64' if apple else target.arch}-{platform}"


def is_native(target: Target) -> bool:
    """Whether this machine's own format and system are meant, rather than a Linux board's."""
    if target.arch == "any":
        return True
    if target.arch != host_arch():
        return False
    return sys.platform != "darwin" or target.arch == "x86_64" or target.cpu == "apple-m1"


def cpu_flags(target: Target) -> tuple[str, ...]:
    """The flags by which clang and gcc compile for a target's CPU, that of its kind first."""
    option = "-march" if target.arch == "x86_64" else "-mcpu"
    cpu = (f"{option}={target.cpu}",) if target.cpu else ()
    return (*cpu, "-mprefer-vector-width=512") if target.isa == "avx512" else cpu
