"""The C interface of an exported model, by C programs under the sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ago.options import Options
from ago.pipeline import compile_graph
from ago.runtime.export import export_artifact
from ago.target import resolve_target, runs_on_host
from tests.support.exported import (
    CLANG,
    GCC,
    NAME,
    compiler,
    export,
    kernel_flags,
    model_files,
    run,
    strips_graph,
)

HERE = Path(__file__).parent
NO_SHADOW = "FATAL: ThreadSanitizer: unexpected memory mapping"


def build(folder: Path, program: str, *flags: str, threads: bool = False) -> Path:
    """A C program of this folder with the model's own files; skips without the sanitizer."""
    cc = compiler(*CLANG, *GCC)
    files = [name for name in model_files(folder) if name != "ago_mem.c"]
    files += ["ago_pool.c"] if threads else []
    out = folder / program
    warn = ["-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Werror"]
    command = [cc, *warn, *kernel_flags(folder), *flags, "-I.", HERE / f"{program}.c", *files]
    command = [*map(str, command), "-pthread", "-o", str(out)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0 and "san" in done.stderr and "error:" not in done.stderr:
        pytest.skip(f"{cc} has no such sanitizer here")
    assert done.returncode == 0, done.stderr
    return out


def test_misuse_gives_error_codes_and_damaged_weights_are_refused(tmp_path):
    folder = export(tmp_path)
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    program = build(folder, "hostile", *flags)
    printed = run([program, f"{NAME}.weights", 400], folder, ASAN_OPTIONS="detect_leaks=0")
    assert printed == "0 failures\n"


def test_contexts_are_independent_and_pools_change_no_bit(tmp_path):
    run_shared(export(tmp_path, threads=3))


def test_strips_of_rows_are_free_of_races(tmp_path):
    targets = map(resolve_target, ("x86-64-v3", "cortex-a76"))
    target = next(filter(runs_on_host, targets), None)
    if target is None:
        pytest.skip("this machine runs no target whose plan is known")
    made = compile_graph(strips_graph(), Options(target, threads=3))
    assert "clip:3 + pool_out:1 at clip1.y" in str(made.plans)
    export_artifact(made.artifact, tmp_path)
    run_shared(tmp_path)


def run_shared(folder: Path) -> None:
    """Run threads.c on a folder."""
    program = build(folder, "threads", "-fsanitize=thread", threads=True)
    command = [str(program), str(folder / f"{NAME}.weights")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if NO_SHADOW in done.stderr:
        pytest.skip("this kernel lays memory out as the sanitizer cannot use it")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "0 failures\n"
