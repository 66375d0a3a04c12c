"""Loading a compiled model into this process and calling it.

Read `Library` first, then `Session`. Arrays are handed over by pointer: dense and row-major, none
copied. The calls release the GIL, and all state is in the arrays, so any number of threads may
share a library as long as each brings its own workspace and outputs.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ago.errors import DeviceError, InputError
from ago.runtime.artifact import ALIGNMENT
from ago.runtime.pool import ThreadPool

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

_HUGE_PAGE = 2 * 1024 * 1024

# The codes of csrc/ago_runtime.h.
_ERRORS = {
    1: "a required pointer is null",
    2: f"weights or workspace are not aligned to {ALIGNMENT} bytes",
    3: "no step has this index",
}


def aligned_array(
    shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32, alignment: int = ALIGNMENT
) -> npt.NDArray[Any]:
    """Allocate a zeroed dense array at an aligned address.

    Args:
        shape: Its shape.
        dtype: Its element type.
        alignment: Bytes; a power of two. Arrays of 2 MiB and more are aligned to that and backed by
            huge pages where the system offers them: fewer TLB misses while weights stream.

    Returns:
        The array.

    Raises:
        InputError: There is not that much memory.
    """
    kind = np.dtype(dtype)
    dims = (shape,) if isinstance(shape, int) else tuple(shape)
    size = math.prod(dims) * kind.itemsize
    if size >= _HUGE_PAGE:
        alignment = max(alignment, _HUGE_PAGE)
        try:
            memory = mmap.mmap(-1, size + alignment)
        except (OSError, OverflowError) as error:
            raise InputError(f"no memory for {list(dims)} of {kind}, {size:,} B: {error}") from None
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        raw = np.frombuffer(memory, np.uint8)
    else:
        raw = np.zeros(size + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return np.ndarray(dims, kind, buffer=raw, offset=start)


class Library:
    """A compiled model in this process.

    Attributes:
        path: The shared library.
        name: The model's C identifier.
        ffi: Interface to its functions.
        pool: Threads that runs are shared with; None for the calling thread alone.
    """

    def __init__(self, path: Path, name: str, pool: ThreadPool | None = None) -> None:
        """Load a library.

        Args:
            path: A shared library built for this machine.
            name: The C identifier that prefixes its functions.
            pool: Threads to share runs with, if the model was compiled for several.

        Raises:
            DeviceError: It cannot be loaded or lacks a function.
        """
        import cffi  # deferred: its parser of C declarations takes 0.1 s to import

        self.path = path
        self.name = name
        self.pool = pool
        self.ffi = cffi.FFI()
        arguments = "const void *const *, void *const *, const void *, void *"
        self.ffi.cdef(f"int32_t {name}_run({arguments});")
        self.ffi.cdef(f"int32_t {name}_step(int32_t, {arguments});")
        self.ffi.cdef(f"int32_t {name}_run_on(const void *, {arguments});")
        try:
            self._library = self.ffi.dlopen(str(path))
            self._run = getattr(self._library, f"{name}_run")
            self._step = getattr(self._library, f"{name}_step")
        except (OSError, AttributeError) as error:
            raise DeviceError(f"cannot load the compiled model {path}: {error}") from error
        self._run_on = getattr(self._library, f"{name}_run_on", None)

    def run(
        self, inputs: Sequence[Array], outputs: Sequence[Array], weights: Bytes, workspace: Bytes
    ) -> None:
        """Run the whole model once.

        Args:
            inputs: C-contiguous arrays of the model's types and shapes, in order; not checked.
            outputs: Likewise; overwritten.
            weights: The artifact's blob, 64-byte aligned.
            workspace: At least the artifact's `workspace_bytes`, 64-byte aligned; overwritten.

        Raises:
            InputError: An array is not dense.
            DeviceError: The model refused its arguments.
        """
        Session(self, len(inputs), len(outputs), weights, workspace).run(inputs, outputs)

    def step(
        self,
        index: int,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        weights: Bytes,
        workspace: Bytes,
    ) -> None:
        """Run one subgraph, which reads and writes the workspace; arguments are those of `run`."""
        session = Session(self, len(inputs), len(outputs), weights, workspace)
        session.point(inputs, outputs)
        session.step(index)

    def entry_of_steps(self) -> Callable[..., int]:
        """The function that runs one step, whose number comes in front of the arrays."""
        step: Callable[..., int] = self._step
        return step

    def entry(self) -> tuple[Callable[..., int], tuple[Any, ...]]:
        """The function that runs the model, and its arguments in front of the arrays."""
        if self.pool is not None and self._run_on is not None:
            return self._run_on, (self.ffi.cast("void *", self.pool.handle),)
        return self._run, ()

    @staticmethod
    def check(what: str, code: int) -> None:
        """Raise where a call returned an error code.

        Raises:
            DeviceError: It did; says what the code means.
        """
        if code:
            raise DeviceError(f"{what} failed: {_ERRORS.get(code, f'unknown error {code}')}")


class Session:
    """A library with one caller's weights and workspace; a run costs few microseconds beside C's.

    Attributes:
        arguments: The tables of inputs and outputs, the weights, the workspace.
    """

    def __init__(
        self, library: Library, inputs: int, outputs: int, weights: Bytes, workspace: Bytes
    ) -> None:
        """Prepare runs.

        Args:
            library: The model.
            inputs: How many inputs it has.
            outputs: How many outputs it has.
            weights: The artifact's blob, 64-byte aligned.
            workspace: At least the artifact's `workspace_bytes`, 64-byte aligned; overwritten.
        """
        ffi = library.ffi
        self._library = library
        self._held = (weights, workspace)
        self._from_buffer = ffi.from_buffer
        self._inputs = ffi.new("void *[]", inputs or 1)
        self._outputs = ffi.new("void *[]", outputs or 1)
        self.arguments = (
            self._inputs,
            self._outputs,
            ffi.cast("void *", weights.ctypes.data),
            ffi.cast("void *", workspace.ctypes.data),
        )
        self._run, self._front = library.entry()
        self._step = library.entry_of_steps()

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Run the model once.

        Args:
            inputs: C-contiguous arrays of the model's types and shapes, in order; not checked.
            outputs: Likewise; overwritten.

        Raises:
            InputError: An array is not dense.
            DeviceError: The model refused its arguments.
        """
        self.point(inputs, outputs)
        pool = self._library.pool
        if pool is None:
            code = self._run(*self._front, *self.arguments)
        else:
            with pool.lock:
                code = self._run(*self._front, *self.arguments)
        if code:
            self._library.check(f"{self._library.name}_run", code)

    def step(self, index: int) -> None:
        """Run one subgraph on the arrays that `point` was given; it uses the calling thread alone.

        Args:
            index: Number of the step.

        Raises:
            DeviceError: The model refused its arguments.
        """
        code = self._step(index, *self.arguments)
        if code:
            self._library.check(f"{self._library.name}_step({index})", code)

    def point(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Let the tables of inputs and outputs point to arrays, which the caller keeps alive.

        Raises:
            InputError: An array is not dense.
        """
        for role, table, arrays in (
            ("input", self._inputs, inputs),
            ("output", self._outputs, outputs),
        ):
            for position, array in enumerate(arrays):
                try:
                    table[position] = self._from_buffer(array)
                except (BufferError, ValueError) as error:
                    raise InputError(
                        f"{role} {position} of {self._library.name} must be a C-contiguous array, "
                        f"not one with strides {array.strides}"
                    ) from error
