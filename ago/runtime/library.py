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

_DECLARATIONS = """
typedef struct {{
    uint64_t model;
    const void *weights;
    void *workspace;
    const void *pool;
}} ago_context;
int32_t {name}_init(ago_context *, const void *, size_t, void *, size_t);
int32_t {name}_run(const ago_context *, const void *const *, void *const *);
int32_t {name}_step(const ago_context *, int32_t, const void *const *, void *const *);
int32_t {name}_set_pool(ago_context *, const void *);
const char *{name}_error_text(int32_t);
"""
_FUNCTIONS = ("init", "run", "step", "set_pool", "error_text")


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


def aligned_bytes(content: bytes) -> Bytes:
    """A copy of bytes at an aligned address; see `aligned_array`."""
    array: Bytes = aligned_array(len(content), np.uint8)
    array[:] = np.frombuffer(content, np.uint8)
    return array


class Library:
    """A compiled model in this process.

    Attributes:
        path: The shared library.
        name: The model's C identifier.
        ffi: Interface to its functions.
        pool: Threads that runs are shared with; None for the calling thread alone.
        entry: The C function that runs the model.
        step_entry: The C function that runs one step.
    """

    entry: Callable[..., int]
    step_entry: Callable[..., int]

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
        self.ffi.cdef(_DECLARATIONS.format(name=name))
        try:
            self._library = self.ffi.dlopen(str(path))
            functions = [getattr(self._library, f"{name}_{function}") for function in _FUNCTIONS]
        except (OSError, AttributeError) as error:
            raise DeviceError(f"cannot load the compiled model {path}: {error}") from error
        self._init, self.entry, self.step_entry, self._set_pool, self._error_text = functions

    def run(
        self, inputs: Sequence[Array], outputs: Sequence[Array], weights: Bytes, workspace: Bytes
    ) -> None:
        """Run the whole model once.

        Args:
            inputs: C-contiguous arrays of the model's types and shapes, in order; not checked.
            outputs: Likewise; overwritten.
            weights: An array of the artifact's `weights_image`, 64-byte aligned.
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

    def context(self, weights: Bytes, workspace: Bytes) -> object:
        """A new `ago_context`, for runs of one thread at a time.

        Args:
            weights: An array of the artifact's `weights_image`, 64-byte aligned; kept alive by the
                caller, as the workspace is.
            workspace: At least the artifact's `workspace_bytes`, 64-byte aligned; overwritten.

        Raises:
            DeviceError: The model refused them.
        """
        context = self.ffi.new("ago_context *")
        pointers = [self.ffi.cast("void *", array.ctypes.data) for array in (weights, workspace)]
        code = self._init(context, pointers[0], weights.nbytes, pointers[1], workspace.nbytes)
        self.check("init", code)
        if self.pool is not None:
            self.check(
                "set_pool", self._set_pool(context, self.ffi.cast("void *", self.pool.handle))
            )
        return context

    def address(self, thing: object) -> int:
        """The address of a C function of the library, or of a context."""
        return int(self.ffi.cast("uintptr_t", thing))

    def check(self, what: str, code: int) -> None:
        """Raise where a function of the model returned an error code.

        Args:
            what: The function, such as `"run"`.
            code: What it returned.

        Raises:
            DeviceError: It did; says what the code means.
        """
        if code:
            text = self.ffi.string(self._error_text(code)).decode()
            raise DeviceError(f"{self.name}_{what} failed: {text}")


class Session:
    """A library with one caller's weights and workspace; a run costs few microseconds beside C's.

    Attributes:
        arguments: The context, the tables of inputs and outputs: what `NAME_run` takes.
    """

    def __init__(
        self, library: Library, inputs: int, outputs: int, weights: Bytes, workspace: Bytes
    ) -> None:
        """Prepare runs.

        Args:
            library: The model.
            inputs: How many inputs it has.
            outputs: How many outputs it has.
            weights: An array of the artifact's `weights_image`, 64-byte aligned.
            workspace: At least the artifact's `workspace_bytes`, 64-byte aligned; overwritten.

        Raises:
            DeviceError: The model refused weights or workspace.
        """
        ffi = library.ffi
        self._library = library
        self._held = (weights, workspace)
        self._from_buffer = ffi.from_buffer
        self._inputs = ffi.new("void *[]", inputs or 1)
        self._outputs = ffi.new("void *[]", outputs or 1)
        context = library.context(weights, workspace)
        self.arguments = (context, self._inputs, self._outputs)
        self._run, self._step = library.entry, library.step_entry

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
            code = self._run(*self.arguments)
        else:
            with pool.lock:
                code = self._run(*self.arguments)
        if code:
            self._library.check("run", code)

    def step(self, index: int) -> None:
        """Run one subgraph on the arrays that `point` was given; it uses the calling thread alone.

        Args:
            index: Number of the step.

        Raises:
            DeviceError: The model refused its arguments.
        """
        context, inputs, outputs = self.arguments
        code = self._step(context, index, inputs, outputs)
        if code:
            self._library.check(f"step({index})", code)

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
