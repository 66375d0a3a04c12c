"""Compares `csrc/ago_math.h` with float64 over all float32 arguments, or every k-th.

Read `sweep` first. Errors are in units in the last place (ULP): the distance from the float64
result over the spacing of float32 numbers there, that of denormals near 0. NaN, infinities and the
sign of zero must agree exactly.

    python tools/sweep_vector_math.py --every 1 exp tanh --layer avx2
"""

from __future__ import annotations

import argparse
import ctypes
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import special

from ago.codegen.real_functions import ERRORS, MOST, OF_ARGUMENT
from ago.ir.functions import REAL_FUNCTIONS
from ago.runtime.sources import csrc_path
from ago.runtime.toolchain import find_toolchain
from ago.target import TARGETS

Reference = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]

MEANINGS: dict[str, Reference] = {
    **{name: REAL_FUNCTIONS[name] for name in ERRORS if name in REAL_FUNCTIONS},
    "sigmoid": special.expit,
    "erf": special.erf,
    "gelu": lambda x: x * special.ndtr(x),
}
"""Functions of one argument, in float64."""

REFERENCES: dict[str, tuple[Reference, float]] = {
    name: (meaning, ERRORS[name]) for name, meaning in MEANINGS.items()
}
"""Their meanings with the bounds of their errors in ULP."""

PAIRS = {"pow": (np.power, ERRORS["pow"])}
"""Those of two arguments."""

LAYERS = {"f32": ("float", 1), "avx2": ("__m256", 8), "avx512": ("__m512", 16)}
"""C type and lanes of the layers that an x86 machine may have."""

_LARGEST = float(np.finfo(np.float32).max)
_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest error of a sweep.

    Attributes:
        ulp: In ULP; infinite where NaN, infinity or a zero's sign is wrong.
        arguments: Where.
    """

    ulp: float
    arguments: tuple[float, ...]


def source(layer: str) -> str:
    """C functions `run_NAME(out, x, y, count)` for every function."""
    kind, lanes = LAYERS[layer]
    lines = ['#include "ago_math.h"']
    for name in [*REFERENCES, *PAIRS]:
        operands = ("x", "y") if name in PAIRS else ("x",)
        values = ", ".join(f"(*(const {kind} *)({operand} + k))" for operand in operands)
        lines += [
            f"AGO_EXPORT void run_{name}(float *out, const float *x, const float *y, long n) {{",
            f"    (void)y; for (long k = 0; k < n; k += {lanes})",
            f"        *({kind} *)(out + k) = ago_{name}_{layer}({values});",
            "}",
        ]
    return "\n".join(lines) + "\n"


def build(layer: str, target: str, directory: Path, more: str = "") -> ctypes.CDLL:
    """Compile the functions of a layer, and some more C, for a target, and load them."""
    file = directory / "sweep.c"
    file.write_text(source(layer) + more, encoding="utf-8")
    compiler, cpu = find_toolchain(TARGETS[target]), TARGETS[target]
    headers = csrc_path("ago_math.h").parent
    files = [file, csrc_path("ago_mem.c")]
    objects = compiler.compile_objects(files, directory, cpu, include=[headers])
    return ctypes.CDLL(str(compiler.link_shared(objects, directory / "sweep.so", cpu)))


def call(
    library: ctypes.CDLL, name: str, x: npt.NDArray[np.float32], y: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Results of a function; the arrays are aligned to 64 bytes, their length a multiple of 16."""
    raw = np.empty(len(x) + 16, np.float32)
    out = raw[(-raw.ctypes.data // 4) % 16 :][: len(x)]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (out, x, y)]
    getattr(library, f"run_{name}")(*pointers, ctypes.c_long(len(x)))
    return out


def aligned(bits: npt.NDArray[np.uint32]) -> npt.NDArray[np.float32]:
    """Floats of these bits, aligned to 64 bytes and filled up with zeros."""
    raw = np.zeros(-(-len(bits) // 16) * 16 + 16, np.uint32)
    start = (-raw.ctypes.data // 4) % 16
    raw[start : start + len(bits)] = bits
    return raw[start : start + len(raw) - 16].view(np.float32)


def errors(
    result: npt.NDArray[np.float32],
    wanted: npt.NDArray[np.float64],
    of: npt.NDArray[np.float64] | None = None,
) -> npt.NDArray[np.float64]:
    """Distance in ULP, of the result or of others; infinite where a special value is wrong."""
    with np.errstate(all="ignore"):
        size = np.clip(np.abs(wanted if of is None else of), 2.0**-126, _LARGEST)
        unit = 2.0 ** (np.floor(np.log2(size)) - 23)
        single = wanted.astype(np.float32)
        # the next float beyond the largest stands for infinity
        finite = np.clip(result.astype(np.float64), -(2.0**128), 2.0**128)
        distance = np.abs(finite - np.clip(wanted, -(2.0**128), 2.0**128)) / unit
        special_value = ~np.isfinite(single) | (wanted == 0)
        same = np.isnan(result) & np.isnan(wanted)
        same |= (result == single) & (np.signbit(result) == np.signbit(wanted))
        near = np.isinf(single) & np.isfinite(wanted)  # overflow may come a step early or late
        return np.where(special_value & ~near, np.where(same, 0.0, np.inf), distance)


def chunks(every: int, offset: int = 0) -> Iterator[npt.NDArray[np.float32]]:
    """Every k-th of the 2^32 floats."""
    span = _CHUNK * every
    for start in range(offset, 1 << 32, span):
        bits = np.arange(start, min(start + span, 1 << 32), every, dtype=np.uint64)
        yield aligned(bits.astype(np.uint32))


def errors_at(
    library: ctypes.CDLL, name: str, x: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """Errors of a function in ULP; 0 where it does not have to be right."""
    with np.errstate(all="ignore"):
        arguments = x.astype(np.float64)
        wanted = REFERENCES[name][0](arguments)
    found = errors(call(library, name, x, x), wanted, arguments if name in OF_ARGUMENT else None)
    return np.where(arguments > MOST.get(name, np.inf), 0.0, found)


def sweep(library: ctypes.CDLL, name: str, every: int) -> Worst:
    """The largest error of a function over every k-th argument."""
    worst = Worst(0.0, ())
    for x in chunks(every):
        found = errors_at(library, name, x)
        at = int(np.argmax(found))
        if found[at] > worst.ulp:
            worst = Worst(float(found[at]), (float(x[at]),))
    return worst


def sweep_pairs(library: ctypes.CDLL, name: str, count: int, seed: int = 0) -> Worst:
    """The largest error of a function of two arguments: random bits, and near each other."""
    rng = np.random.default_rng(seed)
    x = aligned(rng.integers(0, 1 << 32, count, np.uint32))
    other = rng.integers(0, 1 << 32, count, np.uint32)
    other[::2] = (rng.standard_normal(len(other[::2])) * 8).astype(np.float32).view(np.uint32)
    with np.errstate(invalid="ignore"):
        other[::5] = np.rint(other[::5].view(np.float32)).view(np.uint32)
    y = aligned(other)
    with np.errstate(all="ignore"):
        wanted = PAIRS[name][0](x.astype(np.float64), y.astype(np.float64))
    found = errors(call(library, name, x, y), wanted)
    at = int(np.argmax(found))
    return Worst(float(found[at]), (float(x[at]), float(y[at])))


def main() -> None:
    """Print the largest error of each function."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="functions; by default all")
    parser.add_argument("--every", type=int, default=1021, help="take every k-th float")
    parser.add_argument("--layer", choices=sorted(LAYERS), default="avx2")
    parser.add_argument("--target", default="x86-64-v3", help="target to compile for")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        library = build(options.layer, options.target, Path(directory))
        for name in options.names or [*REFERENCES, *PAIRS]:
            if name in PAIRS:
                worst = sweep_pairs(library, name, (1 << 32) // options.every)
            else:
                worst = sweep(library, name, options.every)
            print(f"{name:8} {worst.ulp:8.4f} ULP at {worst.arguments}", flush=True)


if __name__ == "__main__":
    main()
