"""Every toolchain on this machine, for tests that must hold with each of them."""

from __future__ import annotations

import importlib.util

from ago.errors import ToolchainError
from ago.runtime.toolchain import Toolchain, describe_toolchain, find_toolchain, zig_command


def toolchains() -> list[Toolchain]:
    """The default one, then pip's zig if it is installed and not the default."""
    try:
        found = [find_toolchain()]
    except ToolchainError:
        found = []
    zig = zig_command() if importlib.util.find_spec("ziglang") else None
    if zig and describe_toolchain(zig) not in found:
        found.append(describe_toolchain(zig))
    return found
