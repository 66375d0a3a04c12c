"""Small C files of the project's own, compiled for one target and loaded.

Read `load_native` first. The C is built with the flags that compiled models are built with.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ago.runtime.build import library_suffix
from ago.runtime.sources import csrc_path
from ago.runtime.toolchain import Toolchain, find_toolchain
from ago.target import Target

if TYPE_CHECKING:
    import cffi


def load_native(
    source: Path, declarations: str, target: Target, toolchain: Toolchain | None = None
) -> tuple[cffi.FFI, Any]:
    """Build a C file that needs no more than `ago_runtime.h` and `ago_mem.c`, and load it.

    Args:
        source: The file.
        declarations: C declarations of its functions.
        target: CPU to compile for; this machine must be able to run it.
        toolchain: By default whatever `find_toolchain` finds for the target.

    Returns:
        The interface and the library, whose attributes are the functions.

    Raises:
        ToolchainError: No compiler was found, or it failed.
    """
    import cffi  # deferred: only running code needs it

    ffi = cffi.FFI()
    ffi.cdef(declarations)
    compiler = toolchain or find_toolchain(target)
    include = csrc_path("ago_runtime.h").parent
    with tempfile.TemporaryDirectory(prefix="ago-native-") as name:
        directory = Path(name)
        files = [source, csrc_path("ago_mem.c")]
        objects = compiler.compile_objects(files, directory, target, include=[include], jobs=1)
        library = directory / f"native{library_suffix()}"
        compiler.link_shared(objects, library, target)
        return ffi, ffi.dlopen(str(library))
