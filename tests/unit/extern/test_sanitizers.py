"""Externs under AddressSanitizer and UndefinedBehaviorSanitizer, on many of their cases.

The arrays are blocks of their own on the heap, of the exact size, so that one element too far is
found. The cases hold what is hostile: indices out of range, NaN, infinities, empty selections.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ago.runtime.artifact import ALIGNMENT, Artifact
from tests.support.cases import Case, compile_cases
from tests.support.extern_cases import EXTERN_TABLES

_FLAGS = ("-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion")
_SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")

_MAIN = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "NAME.h"

static void *filled(void *memory, size_t bytes, FILE *from) {
    if (from == NULL) memset(memory, 0xFF, bytes);
    if (from != NULL && bytes > 0 && fread(memory, 1, bytes, from) != bytes) exit(3);
    return memory;
}

int main(int count, char **files) {
    static const size_t input_bytes[] = {INPUTS}, output_bytes[] = {OUTPUTS};
    const void *inputs[sizeof input_bytes / sizeof *input_bytes];
    void *outputs[sizeof output_bytes / sizeof *output_bytes];
    FILE *data = fopen(files[1], "rb"), *weights = fopen(files[2], "rb");
    if (count != 3 || data == NULL || weights == NULL) return 2;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; ++i) {
        inputs[i] = filled(malloc(input_bytes[i]), input_bytes[i], data);
    }
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; ++i) {
        outputs[i] = filled(malloc(output_bytes[i]), output_bytes[i], NULL);
    }
    ago_context context;
    const void *blob = filled(aligned_alloc(64, WEIGHTS), WEIGHTS, weights);
    void *workspace = filled(aligned_alloc(64, WORKSPACE), WORKSPACE, NULL);
    const int32_t code = NAME_init(&context, blob, NAME_WEIGHTS_BYTES, workspace, WORKSPACE);
    return code == AGO_OK ? NAME_run(&context, inputs, outputs) : code;
}
"""


def compilers() -> list[str]:
    """The first C compiler here that comes with both sanitizers, if any."""
    return [name for name in ("clang", "clang-19", "gcc") if shutil.which(name)][:1]


def _program(artifact: Artifact) -> str:
    text = _MAIN.replace("NAME_WEIGHTS", f"{artifact.name.upper()}_WEIGHTS")
    text = text.replace("NAME", artifact.name)
    for word, infos in (("INPUTS", artifact.inputs), ("OUTPUTS", artifact.outputs)):
        text = text.replace(word, ", ".join(str(info.bytes) for info in infos))
    text = re.sub(r"\bWEIGHTS\b", str(_rounded(len(artifact.weights_image))), text)
    return re.sub(r"\bWORKSPACE\b", str(_rounded(artifact.workspace_bytes)), text)


def _rounded(nbytes: int) -> int:
    """A multiple of the alignment, above 0."""
    return max(-(-nbytes // ALIGNMENT), 1) * ALIGNMENT


def _run(cases: list[Case], compiler: str, directory: Path) -> None:
    artifact, feeds = compile_cases(cases, "portable")
    sources = [path for path in artifact.write(directory) if path.name != "ago_mem.c"]
    main = directory / "main.c"
    main.write_text(_program(artifact))
    (directory / "inputs").write_bytes(b"".join(np.ascontiguousarray(a).tobytes() for a in feeds))
    (directory / "weights").write_bytes(
        artifact.weights_image.ljust(_rounded(len(artifact.weights_image)), b"\0")
    )
    program = directory / "program"
    command = [compiler, *_FLAGS, *_SANITIZE, f"-I{directory}", *map(str, [*sources, main])]
    built = subprocess.run(
        [*command, "-o", str(program)], capture_output=True, text=True, check=False
    )
    if "sanitize" in built.stderr or "asan" in built.stderr:
        pytest.skip(f"{compiler} has no sanitizers here")
    assert built.returncode == 0, built.stderr
    arguments = [str(program), str(directory / "inputs"), str(directory / "weights")]
    run = subprocess.run(
        arguments,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("compiler", compilers())
def test_externs_stay_inside_their_arrays(compiler, tmp_path):
    cases = [case for table in EXTERN_TABLES.values() for case in (*table[::3], table[-1])]
    _run(list({case.name: case for case in cases}.values()), compiler, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clang-19", "clang", "gcc"])
def test_all_cases_stay_inside_their_arrays(name, tmp_path):
    if shutil.which(name) is None:
        pytest.skip(f"no {name} here")
    _run([case for table in EXTERN_TABLES.values() for case in table], name, tmp_path)
