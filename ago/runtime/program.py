"""The C of a model's benchmark program, beside that of the model itself.

Read `write_program` first. The program is `csrc/ago_bench_main.c`; what it knows of its model is
one generated file, and the weights may be inside it.
"""

from __future__ import annotations

from pathlib import Path

from ago.runtime.artifact import Artifact, TensorInfo
from ago.runtime.sources import csrc_path
from ago.runtime.toolchain import Toolchain
from ago.runtime.weights import incbin_text


def write_program(
    artifact: Artifact, directory: Path, compiler: Toolchain, embed_weights: bool
) -> list[Path]:
    """Write what the benchmark program needs besides the model.

    Args:
        artifact: What to build.
        directory: Where `Artifact.write` wrote the model and its weights.
        compiler: Who will compile it, and for which system.
        embed_weights: Put the weights into the program.

    Returns:
        The files to compile, for any CPU of the architecture.
    """
    system = "ago_sys_linux.c" if compiler.needs_no_libc(artifact.target) else "ago_sys_posix.c"
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
