"""From an artifact to a binary on disk.

Read `build` first; `build_cached` is the form that a host run uses. A library exports `NAME_run`
and `NAME_step` and nothing else; an executable is the benchmark program of `ago_bench_main.c`.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path
from typing import Literal

from ago.runtime.artifact import Artifact, TensorInfo
from ago.runtime.cache import Cache
from ago.runtime.sources import csrc_path
from ago.runtime.toolchain import Toolchain, find_toolchain, needs_no_libc

BinaryKind = Literal["shared", "executable"]


def build(
    artifact: Artifact,
    kind: BinaryKind,
    out: Path,
    toolchain: Toolchain | None = None,
    *,
    embed_weights: bool = True,
) -> Path:
    """Compile and link an artifact for its target.

    Args:
        artifact: What to build.
        kind: `"shared"` for a libc-free library, `"executable"` for a static benchmark program.
        out: The file to write; its directory is created if missing.
        toolchain: By default whatever `find_toolchain` finds for the target.
        embed_weights: Put the weights into the executable; otherwise it takes `--weights FILE`.
            A library never holds them.

    Returns:
        `out`.

    Raises:
        ToolchainError: No compiler was found, or it failed.
    """
    target = artifact.target
    if toolchain is None:
        toolchain = find_toolchain(target)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ago-build-") as name:
        directory = Path(name)
        sources = artifact.write(directory)
        objects = toolchain.compile_objects(sources, directory, target, include=[directory])
        if kind == "shared":
            return toolchain.link_shared(objects, out, target)
        program = _write_program(artifact, directory, embed_weights)
        objects += toolchain.compile_objects(program, directory, target, include=[directory])
        return toolchain.link_executable(objects, out, target)


def build_cached(
    artifact: Artifact, cache: Cache | None = None, toolchain: Toolchain | None = None
) -> Path:
    """Build a shared library unless the same code was built before.

    Args:
        artifact: What to build; its weights play no part.
        cache: By default the user's.
        toolchain: By default whatever `find_toolchain` finds for the target.

    Returns:
        The library inside the cache.

    Raises:
        ToolchainError: No compiler was found, or it failed.
    """
    compiler = toolchain or find_toolchain(artifact.target)
    parts = f"shared {artifact.code_digest()} {compiler.fingerprint(artifact.target)}"
    file_name = f"{artifact.name}{library_suffix()}"

    def fill(directory: Path) -> None:
        build(artifact, "shared", directory / file_name, compiler)

    key = hashlib.sha256(parts.encode()).hexdigest()
    return (cache or Cache()).get_or_build(key, fill) / file_name


def library_suffix() -> str:
    """File name ending of a shared library on this machine."""
    return ".dylib" if sys.platform == "darwin" else ".so"


def _write_program(artifact: Artifact, directory: Path, embed_weights: bool) -> list[Path]:
    """Write what the benchmark program needs besides the model; return the files to compile."""
    system = "ago_sys_linux.c" if needs_no_libc(artifact.target) else "ago_sys_posix.c"
    files = ["ago_bench_main.c", system, "ago_bench.h", "ago_sys.h"]
    for file_name in files:
        (directory / file_name).write_bytes(csrc_path(file_name).read_bytes())
    main = [directory / file_name for file_name in files if file_name.endswith(".c")]
    model = directory / "ago_bench_model.c"
    model.write_text(_bench_model_source(artifact, embed_weights), encoding="utf-8")
    if not embed_weights:
        return [*main, model]
    assembler = directory / "ago_bench_weights.S"
    assembler.write_text(_weights_assembler(directory / f"{artifact.name}.weights"), "utf-8")
    return [*main, model, assembler]


def _bench_model_source(artifact: Artifact, embed_weights: bool) -> str:
    """C that describes the model to `ago_bench_main.c`."""

    def table(name: str, infos: tuple[TensorInfo, ...]) -> str:
        rows = "".join(f"    {{{_c_string(info.name)}, {info.bytes}u}},\n" for info in infos)
        return f"static const ago_bench_tensor {name}[] = {{\n{rows}    {{NULL, 0u}},\n}};\n"

    name = artifact.name
    weights = "ago_bench_weights" if embed_weights else "NULL"
    declaration = "extern const unsigned char ago_bench_weights[];\n" if embed_weights else ""
    return (
        f'#include "{name}.h"\n#include "ago_bench.h"\n\n{declaration}'
        f"{table('inputs', artifact.inputs)}{table('outputs', artifact.outputs)}\n"
        "const ago_bench_model ago_bench = {\n"
        f"    {_c_string(name)}, {name}_run,\n"
        f"    inputs, {len(artifact.inputs)}, outputs, {len(artifact.outputs)},\n"
        f"    {weights}, {len(artifact.weights)}u, {artifact.workspace_bytes}u,\n"
        "};\n"
    )


def _c_string(text: str) -> str:
    """A C string literal; octal escapes, as a hexadecimal one would swallow what follows."""
    escaped = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{escaped}"'


def _weights_assembler(path: Path) -> str:
    """Assembler that places a file's bytes, aligned to 64, at the symbol `ago_bench_weights`."""
    symbol = "_ago_bench_weights" if sys.platform == "darwin" else "ago_bench_weights"
    section = ".const" if sys.platform == "darwin" else ".section .rodata"
    return (
        f"    {section}\n    .globl {symbol}\n    .balign 64\n"
        f'{symbol}:\n    .incbin "{path.as_posix()}"\n    .byte 0\n'
    )
