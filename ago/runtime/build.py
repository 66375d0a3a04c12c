"""From an artifact to a binary on disk.

Read `build` first; `build_cached` is the form that a host run uses. A library exports the
functions of `NAME.h` and nothing else; an executable is the benchmark program of
`ago_bench_main.c`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from ago.errors import DeviceError, ToolchainError
from ago.progress import Progress, silent
from ago.runtime.artifact import Artifact, TensorInfo
from ago.runtime.cache import Cache
from ago.runtime.sources import csrc_path
from ago.runtime.symbols import function_sizes
from ago.runtime.toolchain import Toolchain, find_toolchain, needs_no_libc
from ago.runtime.weights import incbin_text

_SIZES = "sizes.json"

BinaryKind = Literal["shared", "executable"]


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
        kind: `"shared"` for a libc-free library, `"executable"` for a static benchmark program.
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
    compiler = toolchain or find_toolchain(artifact.target)
    with _compiled(artifact, compiler, progress) as (directory, objects):
        if kind == "shared":
            return _link_library(artifact, compiler, objects, out)
        return _link_program(artifact, compiler, objects, out, directory, embed_weights)


def build_library_and_program(
    artifact: Artifact,
    library: Path,
    program: Path,
    toolchain: Toolchain | None = None,
    progress: Progress = silent,
) -> None:
    """Do what two calls of `build` would, compiling the model once.

    Args:
        artifact: What to build.
        library: The shared library to write.
        program: The benchmark program to write, with the weights inside.
        toolchain: By default whatever `find_toolchain` finds for the target.
        progress: Told how many of the model's C files are compiled.

    Raises:
        ToolchainError: No compiler was found, or it failed.
    """
    compiler = toolchain or find_toolchain(artifact.target)
    with _compiled(artifact, compiler, progress) as (directory, objects):
        _link_library(artifact, compiler, objects, library)
        _link_program(artifact, compiler, objects, program, directory, embed_weights=True)


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


def library_suffix() -> str:
    """File name ending of a shared library on this machine."""
    return ".dylib" if sys.platform == "darwin" else ".so"


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


def _link_library(artifact: Artifact, compiler: Toolchain, objects: list[Path], out: Path) -> Path:
    out.parent.mkdir(parents=True, exist_ok=True)
    return compiler.link_shared(objects, out, artifact.target)


def _link_program(
    artifact: Artifact,
    compiler: Toolchain,
    objects: list[Path],
    out: Path,
    directory: Path,
    embed_weights: bool,
) -> Path:
    sources = _write_program(artifact, directory, embed_weights)
    names = {source.name for source in sources}
    own = compiler.compile_objects(
        sources, directory, artifact.target, include=[directory], general=names
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    return compiler.link_executable([*objects, *own], out, artifact.target)


def _write_program(artifact: Artifact, directory: Path, embed_weights: bool) -> list[Path]:
    """Write what the benchmark program needs besides the model; return the files to compile."""
    system = "ago_sys_linux.c" if needs_no_libc(artifact.target) else "ago_sys_posix.c"
    files = ["ago_bench_main.c", system, "ago_bench.h", "ago_program.h", "ago_sys.h"]
    for file_name in files:
        (directory / file_name).write_bytes(csrc_path(file_name).read_bytes())
    main = [directory / file_name for file_name in files if file_name.endswith(".c")]
    model = directory / "ago_bench_model.c"
    model.write_text(_bench_model_source(artifact, embed_weights), encoding="utf-8")
    if not embed_weights or not artifact.weights:
        return [*main, model]
    assembler = directory / "ago_bench_weights.S"
    weights = directory / f"{artifact.name}.weights"
    assembler.write_text(incbin_text(artifact.name, weights.as_posix()), encoding="utf-8")
    return [*main, model, assembler]


def _bench_model_source(artifact: Artifact, embed_weights: bool) -> str:
    """C that describes the model to `ago_bench_main.c`."""

    def table(role: str, infos: tuple[TensorInfo, ...]) -> str:
        rows = "".join(
            f"    {{{macro}_NAME, {macro}_BYTES, {int(info.dtype == 'f32')}}},\n"
            for macro, info in (
                (f"{prefix}_{role}_{number}", info) for number, info in enumerate(infos)
            )
        )
        name = f"{role.lower()}s"
        return f"static const ago_bench_tensor {name}[] = {{\n{rows}    {{NULL, 0u, 0}},\n}};\n"

    name, prefix = artifact.name, artifact.name.upper()
    weights = f"{name}_weights" if embed_weights and artifact.weights else "NULL"
    return (
        f'#include "{name}.h"\n#include "ago_bench.h"\n\n'
        f"{table('INPUT', artifact.inputs)}{table('OUTPUT', artifact.outputs)}\n"
        "const ago_bench_model ago_bench = {\n"
        f'    "{name}", {name}_init, {name}_run, {name}_step, {prefix}_STEPS,\n'
        f"    {name}_error_text,\n"
        f"    inputs, {prefix}_INPUTS, outputs, {prefix}_OUTPUTS,\n"
        f"    {weights}, {prefix}_WEIGHTS_BYTES, {prefix}_WORKSPACE_BYTES,\n"
        "};\n"
    )
