"""Compilers for other operating systems than this machine's: who can link what.

Read `find_cross_toolchain` first. Libraries for Linux and Android need no libc, so any clang with
lld links them; macOS refuses images without its libSystem, which pip's `ziglang` brings along.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Literal

from ago.errors import InputError, ToolchainError
from ago.runtime.platforms import System, host_system
from ago.runtime.toolchain import Toolchain, describe_toolchain, find_toolchain, zig_command
from ago.target import Target

Family = Literal["clang", "zig", "ndk"]
"""Where a compiler comes from: `PATH`, pip's `ziglang`, or Android's NDK."""

_NDK_VARIABLES = ("ANDROID_NDK_HOME", "ANDROID_NDK_ROOT")


def find_cross_toolchain(target: Target, system: System, family: Family | None = None) -> Toolchain:
    """Find a C compiler for an operating system.

    Args:
        target: What it must compile for.
        system: What the binaries will run on.
        family: Which compiler to take; by default what `find_toolchain` finds, but `ziglang` for
            macOS.

    Raises:
        InputError: The system does not run on such CPUs.
        ToolchainError: There is no such compiler, or it cannot link for the system; the message
            says what can.
    """
    if system != "linux" and target.arch != "aarch64":
        raise InputError(f"{system} is built for AArch64 only, not for {target.name}")
    if system == "macos" and host_system() != "macos":
        if family not in (None, "zig"):
            raise ToolchainError(f"{family} has no libraries of macOS to link with; zig has")
        family = "zig"
    return replace(_of_family(target, family), system=system)


def _of_family(target: Target, family: Family | None) -> Toolchain:
    if family == "ndk":
        return describe_toolchain((_ndk_clang(),))
    if family == "zig":
        command = zig_command()
        if command is None:
            raise ToolchainError('there is no zig; get it by `pip install "ago-compiler[cc]"`')
        return describe_toolchain(command)
    found = find_toolchain(target)
    if family == "clang" and found.kind != "clang":
        raise ToolchainError(f"there is no clang that links for {target.arch}: {found.version}")
    return found


def _ndk_clang() -> str:
    """The clang of the Android NDK that the environment names."""
    for root in filter(None, map(os.environ.get, _NDK_VARIABLES)):
        for clang in sorted(Path(root).glob("toolchains/llvm/prebuilt/*/bin/clang")):
            return str(clang)
    raise ToolchainError(
        f"there is no Android NDK: {' or '.join(_NDK_VARIABLES)} must name its folder, with "
        "toolchains/llvm/prebuilt inside"
    )
