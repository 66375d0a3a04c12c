"""Speed of `csrc/ago_math.h` on this machine: nanoseconds and cycles a vector, beside numpy.

python -m benchmarks.vector_math

A cycle is that of a chain of dependent fused multiply-adds, of four cycles each; the time of a call
that computes nothing is taken off. Arguments are standard normal, 8,192 of them.
"""

from __future__ import annotations

import ctypes
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
from scipy import special

from benchmarks.tables import markdown_table, pin
from tools.sweep_vector_math import LAYERS, REFERENCES, aligned, build

COUNT = 8192
ROUNDS = 300
NUMPY = {"sigmoid": special.expit, "erf": special.erf}

_CHAIN = """
#include <immintrin.h>
#include "ago_runtime.h"
AGO_EXPORT float chain(long n) {
    __m128 a = _mm_set1_ps(1.0f), b = _mm_set1_ps(0.5f);
    for (long k = 0; k < n; ++k) {
        a = _mm_fmadd_ps(a, b, b);
        __asm__ volatile("" : "+x"(a)); /* a constant it is not */
    }
    return _mm_cvtss_f32(a);
}
"""


def fastest(call: Callable[[], object]) -> float:
    """Nanoseconds of the fastest of several calls."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter_ns()
        call()
        best = min(best, time.perf_counter_ns() - start)
    return best


def rows(directory: Path) -> list[list[str]]:
    """One row a function: name, ns and cycles a vector, elements a nanosecond here and in numpy."""
    library = build("avx2", "x86-64-v3", directory, _CHAIN)
    library.chain.restype = ctypes.c_float
    lanes = LAYERS["avx2"][1]
    values = np.random.default_rng(0).standard_normal(COUNT).astype(np.float32)
    x, out = aligned(values.view(np.uint32)), aligned(np.zeros(COUNT, np.uint32))
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (out, x, x)]

    def run(name: str, count: int) -> Callable[[], object]:
        function, size = getattr(library, f"run_{name}"), ctypes.c_long(count)
        return lambda: function(*pointers, size)

    empty = fastest(run("exp", 0))
    cycle = (fastest(lambda: library.chain(ctypes.c_long(100_000))) - empty) / 400_000
    table: list[list[str]] = []
    for name, (reference, _) in REFERENCES.items():
        elapsed = fastest(run(name, COUNT)) - empty
        vector = elapsed / (COUNT / lanes)
        theirs = NUMPY.get(name, reference)
        with np.errstate(all="ignore"):
            beside = fastest(lambda f=theirs: f(x))
        speeds = [f"{COUNT / t:.2f}" for t in (elapsed, beside)]
        table.append([name, f"{vector:.2f}", f"{vector / cycle:.1f}", *speeds])
    return table


@click.command()
@click.option("--core", default=0, help="The CPU to run on.")
def main(core: int) -> None:
    """Print a table of all functions."""
    pin(core)
    with tempfile.TemporaryDirectory() as directory:
        header = ["function", "ns a vector", "cycles a vector", "elements/ns", "numpy, elements/ns"]
        click.echo(markdown_table(header, rows(Path(directory))))


if __name__ == "__main__":
    main()
