"""From an artifact to a binary on disk.

Read `build` first, then `_LINKS`, which says how each kind of binary is linked; `build_cached` is
the form that a host run uses. A library exports the functions of `NAME.h` and nothing else; an
executable is the benchmark program (`ago/runtime/program.py`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ago.errors import DeviceError, ToolchainError
from ago.progress import Progress, silent
from ago.runtime.artifact import Artifact
from ago.runtime.cache import Cache
from ago.runtime.platforms import System, host_system
from ago.runtime.program import write_program
from ago.runtime.symbols import function_sizes
from ago.runtime.toolchain import Toolchain, find_toolchain

_SIZES = "sizes.json"

BinaryKind = Literal["shared", "static", "executable"]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A model's object files, in a directory that also holds its sources and weights."""

    artifact: Artifact
    compiler: Toolchain
    directory: Path
    objects: list[Path]
    embed_weights: bool = True


def build(
    artifact: Artifact,
    kind: BinaryKind,
    out: Path,
    toolchain: Toolchain | None = None,
    *,
    embed_weights: bool = True,
    progress: Progress = silent,
) -> Path:
    """Compile and link an artifact for its target.

    Args:
        artifact: What to build.
        kind: `"shared"` for a libc-free library, `"static"` for one to link into a program,
            `"executable"` for a static benchmark program.
        out: The file to write; its directory is created if missing.
        toolchain: By default whatever `find_toolchain` finds for the target.
        embed_weights: Put the weights into the executable; otherwise it takes `--weights FILE`.
            A library never holds them.
        progress: Told how many of the model's C files are compiled.

    Returns:
        `out`.

    Raises:
        ToolchainError: No compiler was found, or it failed.
    """
    build_kinds(artifact, {kind: out}, toolchain, embed_weights=embed_weights, progress=progress)
    return out


def build_kinds(
    artifact: Artifact,
    outs: Mapping[BinaryKind, Path],
    toolchain: Toolchain | None = None,
    *,
    embed_weights: bool = True,
    progress: Progress = silent,
) -> None:
    """Do what a call of `build` for each kind would, compiling the model once.

    Args:
        artifact: What to build.
        outs: The file to write for each kind.
        toolchain: By default whatever `find_toolchain` finds for the target.
        embed_weights: Put the weights into the executable.
        progress: Told how many of the model's C files are compiled.

    Raises:
        ToolchainError: No compiler was found, or it failed.
    """
    compiler = toolchain or find_toolchain(artifact.target)
    with _compiled(artifact, compiler, progress) as (directory, objects):
        made = _Compiled(artifact, compiler, directory, objects, embed_weights)
        for kind, out in outs.items():
            out.parent.mkdir(parents=True, exist_ok=True)
            _LINKS[kind](made, out)


def build_cached(
    artifact: Artifact,
    cache: Cache | None = None,
    toolchain: Toolchain | None = None,
    progress: Progress = silent,
) -> Path:
    """Build a shared library unless the same code was built before.

    Args:
        artifact: What to build; its weights play no part.
        cache: By default the user's.
        toolchain: By default whatever `find_toolchain` finds for the target.
        progress: Told how many C files are compiled; nothing if the library is in the cache.

    Returns:
        The library inside the cache.

    Raises:
        ToolchainError: No compiler was found, or it failed.
    """
    compiler = toolchain or find_toolchain(artifact.target)
    parts = f"shared {artifact.code_digest()} {compiler.fingerprint(artifact.target)}"
    file_name = f"{artifact.name}{library_suffix()}"

    def fill(directory: Path) -> None:
        build(artifact, "shared", directory / file_name, compiler, progress=progress)

    key = hashlib.sha256(parts.encode()).hexdigest()
    return (cache or Cache()).get_or_build(key, fill) / file_name


def code_sizes(
    artifact: Artifact, cache: Cache | None = None, progress: Progress = silent
) -> Mapping[str, int] | None:
    """Bytes of code of each C function of a model, from its object files; cached.

    Args:
        artifact: A compiled model.
        cache: By default the user's.
        progress: Told how many C files are compiled.

    Returns:
        Sizes by function; None where there is no compiler, or objects are not ELF.
    """
    try:
        compiler = find_toolchain(artifact.target)
    except ToolchainError:
        return None
    parts = f"sizes {artifact.code_digest()} {compiler.fingerprint(artifact.target)}"

    def fill(directory: Path) -> None:
        sizes: Counter[str] = Counter()
        with _compiled(artifact, compiler, progress) as (_, objects):
            for path in objects:
                sizes.update(function_sizes(path.read_bytes()))
        (directory / _SIZES).write_text(json.dumps(sizes, sort_keys=True), encoding="utf-8")

    key = hashlib.sha256(parts.encode()).hexdigest()
    try:
        entry = (cache or Cache()).get_or_build(key, fill)
    except DeviceError:
        return None
    sizes: dict[str, int] = json.loads((entry / _SIZES).read_text(encoding="utf-8"))
    return sizes


def library_suffix(system: System | None = None) -> str:
    """File name ending of a shared library on a system, by default this machine's."""
    return ".dylib" if (system or host_system()) == "macos" else ".so"


@contextlib.contextmanager
def _compiled(
    artifact: Artifact, compiler: Toolchain, progress: Progress
) -> Iterator[tuple[Path, list[Path]]]:
    """A temporary directory with the artifact's files, and the objects they compile to."""
    with tempfile.TemporaryDirectory(prefix="ago-build-") as name:
        directory = Path(name)
        sources = artifact.write(directory)
        objects = compiler.compile_objects(
            sources,
            directory,
            artifact.target,
            include=[directory],
            general=artifact.general_files,
            progress=progress,
        )
        yield directory, objects


def _link_library(made: _Compiled, out: Path) -> None:
    made.compiler.link_shared(made.objects, out, made.artifact.target)


def _archive(made: _Compiled, out: Path) -> None:
    made.compiler.archive(made.objects, out, made.artifact.target)


def _link_program(made: _Compiled, out: Path) -> None:
    target = made.artifact.target
    sources = write_program(made.artifact, made.directory, made.compiler, made.embed_weights)
    own = made.compiler.compile_objects(
        sources,
        made.directory,
        target,
        include=[made.directory],
        general={source.name for source in sources},
    )
    made.compiler.link_executable([*made.objects, *own], out, target)


_LINKS: Mapping[BinaryKind, Callable[[_Compiled, Path], None]] = {
    "shared": _link_library,
    "static": _archive,
    "executable": _link_program,
}
"""How each kind of binary is made of a model's object files."""
