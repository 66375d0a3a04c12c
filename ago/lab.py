"""A bench for single programs: run one, time one, on this machine.

Read `measure` first. It is for schedules written by hand: `ago.optimize` needs none of this.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ago.backends import INTRINSICS
from ago.codegen.emit import emit_function
from ago.errors import InputError
from ago.ir.nest import Stage
from ago.ir.packing import pack_array
from ago.ir.program import Program
from ago.ir.tensor import numpy_dtype
from ago.ir.value import Call, Select, Value
from ago.ir.verify import verify
from ago.runtime.library import aligned_array
from ago.target import Target, resolve_target, runs_on_host
from ago.tune import Candidate, PeakProbe, measure_candidates, run_candidate

_PROBES = 5
_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Timing:
    """How fast a program ran.

    Attributes:
        seconds: The fastest of several runs.
        flop: Floating-point operations of one run.
        peak: What the core can do in independent multiply-adds, FLOP a second.
    """

    seconds: float
    flop: int
    peak: float

    @property
    def share(self) -> float:
        """Its speed over the peak."""
        return self.flop / self.seconds / self.peak

    def __str__(self) -> str:
        speed = self.flop / self.seconds / 1e9
        return f"{1e3 * self.seconds:.3g} ms, {speed:.1f} GFLOP/s, {self.share:.1%} of the FMA peak"


def measure(program: Program, target: str | Target = "host") -> Timing:
    """Compile a program and time it on random operands.

    Args:
        program: Naive or scheduled.
        target: `"host"`, or a target that this machine can run.

    Returns:
        Its time, beside the machine's peak.

    Raises:
        IRError: The program breaks a law of the IR.
        InputError: This machine cannot run code for the target.
        ToolchainError: There is no C compiler, or it failed.

    Example:
        >>> from ago.ir import define
        >>> timing = measure(define("y[i] = 2 * x[i]", {"x": (64,)}))
        >>> timing.flop
        64
    """
    chosen = _runnable(target)
    (seconds,) = measure_candidates(
        [_compiled(program, chosen)], chosen, INTRINSICS[chosen.isa], rounds=_ROUNDS
    )
    return Timing(seconds, flop(program), _peak(chosen))


def run(
    program: Program, arrays: Mapping[str, npt.ArrayLike], target: str | Target = "host"
) -> dict[str, npt.NDArray[Any]]:
    """Compile a program and run it once.

    Args:
        program: Naive or scheduled.
        arrays: An array for each input and constant, by buffer, as the naive program has them;
            packed constants are packed here.
        target: `"host"`, or a target that this machine can run.

    Returns:
        The outputs by buffer, of its type.

    Raises:
        IRError: The program breaks a law of the IR.
        InputError: An array is missing, has another shape or is none, or belongs to no operand; or
            the target cannot be run.
        ToolchainError: There is no C compiler, or it failed.

    Example:
        >>> from ago.ir import define
        >>> program = define("C[i,j] += A[i,k] * B[k,j]", {"A": (1, 3), "B": (3, 2)})
        >>> run(program, {"A": [[1, 2, 3]], "B": [[1, 0], [0, 1], [1, 1]]})["C"]
        array([[4., 5.]], dtype=float32)
    """
    chosen = _runnable(target)
    given = {name: _operand(program, name, array) for name, array in arrays.items()}
    candidate = _compiled(program, chosen)
    memory = {n: _filled(program, n, given) for n in candidate.function.parameters}
    run_candidate(candidate, memory, chosen, INTRINSICS[chosen.isa])
    outputs = (b for b in program.buffers if b.scope == "output")
    return {b.name: memory[b.name].reshape(b.shape) for b in outputs}


def flop(program: Program) -> int:
    """Floating-point operations of a program: calls of scalar functions, sums of reductions."""
    return sum(_flop_of_stage(stage) for stage in program.stages)


def _flop_of_stage(stage: Stage) -> int:
    calls = sum(1 for _ in _calls(stage.value)) + (stage.reduce is not None)
    return calls * math.prod(axis.extent for axis in stage.axes)


def _calls(value: Value) -> Iterator[Call]:
    match value:
        case Call(_, args):
            yield value
            for arg in args:
                yield from _calls(arg)
        case Select(_, then, otherwise):
            yield from _calls(then)
            yield from _calls(otherwise)
        case _:
            return


def _runnable(target: str | Target) -> Target:
    chosen = resolve_target(target)
    if not runs_on_host(chosen):
        raise InputError(f"this machine cannot run code for {chosen.name}")
    return chosen


def _compiled(program: Program, target: Target) -> Candidate:
    verify(program)
    return Candidate(program, emit_function(program, target, INTRINSICS[target.isa]))


def _operand(program: Program, name: str, array: npt.ArrayLike) -> npt.NDArray[Any]:
    """What was given for a buffer, in the buffer's type."""
    operands = {b.name: b for b in program.buffers if b.scope in ("input", "constant")}
    if name not in operands:
        raise InputError(f"{name} is no operand; operands: {', '.join(operands) or 'none'}")
    try:
        return np.asarray(array, numpy_dtype(operands[name].dtype))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is no array of {operands[name].dtype}: {error}") from None


def _filled(program: Program, name: str, given: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The memory of a parameter: an operand's values, or NaN for what the program writes."""
    buffer = program.buffer(name)
    memory = aligned_array(math.prod(buffer.shape), numpy_dtype(buffer.dtype))
    if buffer.scope in ("output", "workspace"):
        memory.view(np.uint8)[:] = 0xFF  # a NaN
        return memory
    source = name if buffer.packing is None else buffer.packing.source
    if source not in given:
        raise InputError(f"no array for {source}; given: {', '.join(sorted(given)) or 'none'}")
    wanted = program.buffer(source).shape
    if given[source].shape != wanted:
        raise InputError(f"{source} has the shape {wanted}, not {given[source].shape}")
    memory[:] = np.ravel(pack_array(program, name, given) if buffer.packing else given[source])
    return memory


@functools.cache
def _probe(target: Target) -> PeakProbe:
    return PeakProbe(target)


def _peak(target: Target) -> float:
    return max(_probe(target).sample() for _ in range(_PROBES))
