"""Runs a program by executing its printed text.

Read `interpret` first. Plain mode is the reference that every schedule is compared with. Checked
mode runs the same text on guarded arrays and reports the first access that is outside a buffer,
reads what nobody wrote, or writes what is read-only; it also shuffles parallel loops and executes
vector loops statement by statement, all loads before all stores, so that hidden dependences change
the result.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ago.errors import InputError, IRError
from ago.ir.functions import FUNCTIONS, INTEGERS, wrap
from ago.ir.naming import identifier
from ago.ir.nest import Buffer
from ago.ir.ops import OPERATORS
from ago.ir.packing import pack_array
from ago.ir.printer import parameters, print_program
from ago.ir.program import Program
from ago.ir.rings import find_stale_read
from ago.ir.tensor import numpy_dtype

Mode = Literal["plain", "checked"]
Array: TypeAlias = npt.NDArray[Any]
Position = tuple[int, ...]


def grid(*extents: int) -> Iterator[Position]:
    """All positions of a rectangle, the last one fastest."""
    return itertools.product(*map(range, extents))


def ir_alloc(name: str, shape: Position, dtype: str = "f32") -> Array:
    """A buffer of a program's own, filled with NaN or, where the type has none, with -1."""
    return _unwritten(shape, _stored_dtype(dtype, np.dtype(np.float64)))


def _stored_dtype(dtype: str, floats: np.dtype[Any]) -> np.dtype[Any]:
    """What an element type is stored in: f32 in `floats`, any other as it is."""
    return floats if dtype == "f32" else numpy_dtype(dtype)


def _unwritten(shape: Position, dtype: np.dtype[Any]) -> Array:
    """An array that nobody wrote yet."""
    poison = np.nan if dtype.kind == "f" else np.array(-1).astype(dtype)
    return np.full(shape, poison, dtype)


def ir_extern(
    op: str,
    read: Sequence[object],
    written: Sequence[object],
    attrs: Mapping[str, object],
) -> None:
    """Computes `written` from `read` by the definition of the operator `op`."""
    arrays = [None if a is None else _whole(a) for a in read]
    for target, result in zip(written, OPERATORS[op].reference(arrays, attrs), strict=True):
        _whole(target)[...] = result
        if isinstance(target, _Guarded):
            np.asarray(target.written)[...] = True


def _whole(array: object) -> Array:
    return np.asarray(array.values if isinstance(array, _Guarded) else array)


PRELUDE: Mapping[str, object] = {
    "grid": grid,
    "inf": float("inf"),
    "nan": float("nan"),
    **{f"ir_{name}": row.compute for name, row in FUNCTIONS.items()},
    **{dtype: wrap(dtype) for dtype in sorted(INTEGERS)},
    "ir_alloc": ir_alloc,
    "ir_extern": ir_extern,
    "ir_prefetch": lambda element: None,
}
"""What printed text calls: `exec(str(program), dict(PRELUDE))` defines its function."""


def interpret(
    program: Program,
    arrays: Mapping[str, Array],
    mode: Mode = "plain",
    dtype: npt.DTypeLike = np.float64,
    seed: int = 0,
) -> dict[str, Array]:
    """Run a program on arrays.

    Args:
        program: The program.
        arrays: Inputs and constants by buffer name, of the buffers' shapes. Packed constants are
            made from the constants they gather from.
        mode: `"plain"`, or `"checked"` to find bad accesses.
        dtype: Floating-point type in which f32 buffers store; what is between is a Python float.
            Buffers of other types store as they are.
        seed: Seed of the order in which checked mode runs parallel loops.

    Returns:
        The output buffers by name. What nobody wrote is NaN, or -1 where there is none.

    Raises:
        InputError: An array is missing or has the wrong shape.
        IRError: In checked mode, `out-of-bounds`, `uninitialised-read` or `write-to-constant` of
            the first bad access, with buffer, index and loop variables; `stale-ring` of a row that
            another one has replaced; `vector-bounds`.
    """
    bound = {b.name: _bind(program, b, arrays, np.dtype(dtype)) for b in parameters(program)}
    if mode == "checked":
        _run_checked(program, bound, np.dtype(dtype), seed)
    else:
        _run_plain(program, bound, np.dtype(dtype))
    return {b.name: bound[b.name] for b in program.buffers if b.scope == "output"}


def _bind(
    program: Program, buffer: Buffer, arrays: Mapping[str, Array], dtype: np.dtype[Any]
) -> Array:
    """The array of a parameter: contiguous, f32 ones of type `dtype`; outputs are new."""
    dtype = _stored_dtype(buffer.dtype, dtype)
    if buffer.scope == "output":
        return _unwritten(buffer.shape, dtype)
    if buffer.packing is not None:
        return np.array(pack_array(program, buffer.name, arrays), dtype, order="C")
    if buffer.name not in arrays:
        raise InputError(f"program {program.name} needs an array for {buffer.scope} {buffer.name}")
    array = np.array(arrays[buffer.name], dtype, order="C")
    if array.shape != buffer.shape:
        raise InputError(f"{buffer.name} has shape {array.shape}, expected {buffer.shape}")
    return array


def _run_plain(program: Program, bound: Mapping[str, Array], dtype: np.dtype[Any]) -> None:
    def alloc(name: str, shape: Position, kind: str = "f32") -> memoryview:
        return _unwritten(shape, _stored_dtype(kind, dtype)).data

    function = _define(program, print_program(program), {"ir_alloc": alloc})
    function(*(a.data for a in bound.values()))  # a view gives Python floats: 1.4x faster


def _run_checked(
    program: Program, bound: Mapping[str, Array], dtype: np.dtype[Any], seed: int
) -> None:
    random = np.random.default_rng(seed)
    buffers = {b.name: b for b in program.buffers}

    def alloc(name: str, shape: Position, kind: str = "f32") -> _Guarded:
        array = _unwritten(shape, _stored_dtype(kind, dtype))
        return _Guarded.of(buffers[name], array, written=False)

    def shuffled(positions: Iterable[int]) -> list[int]:
        return [int(v) for v in random.permutation(list(positions))]

    stale = find_stale_read(program.body, buffers)
    if stale is not None:
        raise IRError("stale-ring", stale.message)
    text = print_program(program, checked=True)
    helpers = {"ir_alloc": alloc, "ir_shuffled": shuffled, "ir_store": _store_lanes}
    function = _define(program, text, helpers)
    guarded = [
        _Guarded.of(buffers[name], array, written=buffers[name].scope != "output")
        for name, array in bound.items()
    ]
    try:
        function(*guarded)
    except _BadAccessError as error:
        place = _place(text, function.__code__.co_filename, error.__traceback__)
        raise IRError(error.code, f"{error}{place}") from None


def _define(program: Program, text: str, helpers: Mapping[str, object]) -> Callable[..., None]:
    namespace: dict[str, Any] = {**PRELUDE, **helpers}
    exec(compile(text, f"<program {program.name}>", "exec"), namespace)
    function: Callable[..., None] = namespace[identifier(program.name)]
    return function


class _BadAccessError(Exception):
    """The first bad access of a checked run."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class _Guarded:
    """An array that checks every access; `written` says which elements hold a value."""

    buffer: Buffer
    values: memoryview[float]
    written: memoryview[bool]

    @classmethod
    def of(cls, buffer: Buffer, array: Array, *, written: bool) -> _Guarded:
        flags = np.full(array.shape, written)
        return cls(
            buffer, cast("memoryview[float]", array.data), cast("memoryview[bool]", flags.data)
        )

    def __getitem__(self, index: int | Position) -> float:
        if not self._look_up("read", index):
            raise _BadAccessError(
                "uninitialised-read", f"{self._element(index)} is read before it is written"
            )
        return self.values[index]

    def __setitem__(self, index: int | Position, value: float) -> None:
        if self.buffer.scope in ("input", "constant"):
            raise _BadAccessError(
                "write-to-constant",
                f"write of {self._element(index)}; {self.buffer.scope} buffers are read-only",
            )
        self._look_up("write", index)
        self.values[index] = value
        self.written[index] = True

    def _look_up(self, verb: str, index: int | Position) -> bool:
        """Whether an element holds a value; refuses one that does not exist."""
        lowest = index if isinstance(index, int) else min(index, default=0)
        try:
            if lowest >= 0:
                return self.written[index]
        except (IndexError, TypeError, NotImplementedError):
            pass  # above the shape, or the wrong number of indices
        element, shape = self._element(index), self.values.shape
        raise _BadAccessError("out-of-bounds", f"{verb} of {element} outside its shape {shape}")

    def _element(self, index: int | Position) -> str:
        position = (index,) if isinstance(index, int) else index
        return f"{self.buffer.name}[{', '.join(map(str, position))}]"


def _store_lanes(target: _Guarded, items: list[tuple[Position, float]]) -> None:
    """Store what all lanes of one vector statement computed."""
    for index, value in items:
        target[index] = value


def _place(text: str, filename: str, trace: TracebackType | None) -> str:
    """Where in `text` an exception rose: values of the loops around it, and the line."""
    values: dict[str, object] = {}
    number = 1
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            values.update(trace.tb_frame.f_locals)
            number = trace.tb_lineno
        trace = trace.tb_next
    lines = text.splitlines()
    loops = [
        f"{name} = {values[name]}" for name in _loops_around(lines, number - 1) if name in values
    ]
    at = f", at {', '.join(loops)}" if loops else ""
    return f"{at}\n  {lines[number - 1].strip()}"


def _loops_around(lines: list[str], number: int) -> list[str]:
    """Variables of the loops around line `number`, and of the lanes on it, outermost first."""
    names: list[str] = re.findall(r" for (\w+) in ", lines[number])
    depth = _indent(lines[number])
    for line in reversed(lines[:number]):
        if _indent(line) >= depth:
            continue
        depth = _indent(line)
        head = re.match(r"for (.+?) in ", textwrap.dedent(line))
        if head:
            names = head.group(1).split(", ") + names
    return names


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
