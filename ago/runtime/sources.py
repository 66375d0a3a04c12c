"""Where the C files that ship with AGO are.

They live in `csrc/` at the top of a checkout and in `ago/csrc/` of an installed package; both are
plain directories, so a path is all a compiler needs.
"""

from __future__ import annotations

from pathlib import Path

from ago.errors import ToolchainError

_PACKAGE = Path(__file__).resolve().parents[1]


def csrc_path(name: str) -> Path:
    """Path of a shipped C file.

    Args:
        name: File name, such as `"ago_runtime.h"`.

    Raises:
        ToolchainError: There is no such file: the installation is broken.
    """
    candidates = (_PACKAGE / "csrc" / name, _PACKAGE.parent / "csrc" / name)
    for path in candidates:
        if path.is_file():
            return path
    looked = " or ".join(str(path.parent) for path in candidates)
    raise ToolchainError(f"{name} is not in {looked}: reinstall ago-compiler")
