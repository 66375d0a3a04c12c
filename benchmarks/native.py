"""The benchmarks' own C, compiled by the project's toolchain for one target and loaded.

Read `load_native` first. The C is built with the flags that compiled models are built with.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import cffi

from ago.runtime.build import library_suffix
from ago.runtime.sources import csrc_path
from ago.runtime.toolchain import find_toolchain
from ago.target import Target

_SOURCES = Path(__file__).parent / "c"


def load_native(source: str, declarations: str, target: Target) -> tuple[cffi.FFI, Any]:
    """Build a file of `benchmarks/c` and load it.

    Args:
        source: Its name.
        declarations: C declarations of its functions.
        target: CPU to compile for; this machine must be able to run it.

    Returns:
        The interface and the library, whose attributes are the functions.
    """
    ffi = cffi.FFI()
    ffi.cdef(declarations)
    toolchain = find_toolchain(target)
    include = csrc_path("ago_runtime.h").parent
    with tempfile.TemporaryDirectory(prefix="ago-bench-") as name:
        directory = Path(name)
        files = [_SOURCES / source, csrc_path("ago_mem.c")]
        objects = toolchain.compile_objects(files, directory, target, include=[include])
        library = directory / f"native{library_suffix()}"
        toolchain.link_shared(objects, library, target)
        return ffi, ffi.dlopen(str(library))
