"""What the code generator hands over to the runtime: C sources, weights, and the interface.

Read `Artifact` first. The C in it has the interface described in `csrc/ago_runtime.h`: `NAME.h`
declares it, `NAME.c` defines it, kernels are in the other files. An artifact is complete: together
with the files in `csrc/` it needs nothing else to be compiled and run.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ago.errors import CodegenError
from ago.ir.tensor import numpy_dtype
from ago.runtime.sources import csrc_path, shipped_headers
from ago.runtime.weights import weights_image
from ago.target import Target

ALIGNMENT = 64
"""Bytes that the weights and the workspace must be aligned to (`AGO_ALIGNMENT` in C)."""

SHIPPED_LIBRARY_FILES = ("ago_runtime.h", "ago_model.h", "ago_runtime.c", "ago_cpu.c", "ago_mem.c")
"""Files from `csrc/` that belong to every compiled model."""

_C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One input or output of a compiled model: a dense row-major array.

    Attributes:
        name: The model's own name of the tensor.
        shape: Its static shape; `()` is a scalar.
        dtype: Short name of the element type.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "f32"

    @property
    def bytes(self) -> int:
        """Size of the array in bytes."""
        return math.prod(self.shape) * self.numpy.itemsize

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """Numpy's element type."""
        return numpy_dtype(self.dtype)

    def unwritten(self) -> npt.NDArray[np.generic]:
        """An array of this type whose bits are all ones: NaN, or -1."""
        return np.full(self.bytes, 0xFF, np.uint8).view(self.numpy).reshape(self.shape)

    def __str__(self) -> str:
        return f"{self.name}: {self.numpy}{list(self.shape)}"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A model as C, before compilation.

    Attributes:
        name: C identifier that prefixes every symbol.
        sources: File name to text; holds `NAME.h` and at least one `.c` file.
        weights: The constants in the order the code reads them.
        workspace_bytes: Scratch memory a run needs, bytes.
        inputs: The model's inputs in the order of `NAME_run`'s array.
        outputs: The model's outputs, likewise.
        target: CPU the code was generated for.
        steps: One readable label a subgraph, in order of execution; `NAME_step` takes its index.
        fingerprint: 64 bits that tie weights to the code; `NAME_FINGERPRINT` in the header.
        parallel: Whether threads can share a run.
        functions: C function that each step calls; none for code that was written by hand.
        traces: The schedule of each step as JSON, likewise.
    """

    name: str
    sources: Mapping[str, str]
    weights: bytes
    workspace_bytes: int
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    target: Target
    steps: tuple[str, ...]
    fingerprint: int
    parallel: bool = False
    functions: tuple[str, ...] = ()
    traces: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _C_IDENTIFIER.fullmatch(self.name):
            raise CodegenError(f"artifact name {self.name!r} is not a C identifier")
        if f"{self.name}.h" not in self.sources:
            raise CodegenError(f"artifact {self.name!r} lacks its header {self.name}.h")
        if not self.c_files:
            raise CodegenError(f"artifact {self.name!r} has no C source")

    @property
    def c_files(self) -> tuple[str, ...]:
        """Names of the files to compile, sorted."""
        return tuple(sorted(name for name in self.sources if name.endswith(".c")))

    @property
    def general_files(self) -> frozenset[str]:
        """Files to be compiled for any CPU of the architecture: they check what the CPU can do."""
        shipped = {name for name in SHIPPED_LIBRARY_FILES if name.endswith(".c")}
        return frozenset({f"{self.name}.c", *shipped})

    @property
    def weights_image(self) -> bytes:
        """What `NAME_init` takes and `NAME.weights` holds: the weights behind their header."""
        return weights_image(self.weights, self.fingerprint)

    def shipped(self) -> dict[str, str]:
        """The files of `csrc/` that the model needs, by name."""
        own = {name: csrc_path(name).read_text("utf-8") for name in SHIPPED_LIBRARY_FILES}
        return own | shipped_headers(self.sources.values(), {*self.sources, *own})

    def code_digest(self) -> str:
        """SHA-256 (hexadecimal) of everything that decides the compiled code; not the weights."""
        digest = hashlib.sha256()
        parts = [self.name, repr(self.target)]
        for name in sorted(self.sources):
            parts += [name, self.sources[name]]
        for name, text in self.shipped().items():
            parts += [name, text]
        for part in parts:
            data = part.encode()
            digest.update(len(data).to_bytes(8, "little") + data)
        return digest.hexdigest()

    def write(self, directory: Path) -> list[Path]:
        """Write the C files, the shipped C files they need, and `NAME.weights`.

        Args:
            directory: Created if missing.

        Returns:
            The C files to compile for a library; the headers are beside them.
        """
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in {**self.sources, **self.shipped()}.items():
            (directory / name).write_text(text, encoding="utf-8")
        (directory / f"{self.name}.weights").write_bytes(self.weights_image)
        shipped = [name for name in SHIPPED_LIBRARY_FILES if name.endswith(".c")]
        return [directory / name for name in [*self.c_files, *shipped]]

    def __str__(self) -> str:
        def tensors(infos: tuple[TensorInfo, ...]) -> str:
            return ", ".join(f"{info.name}: {info.dtype}{list(info.shape)}" for info in infos)

        return (
            f"Artifact {self.name} for {self.target.name}: ({tensors(self.inputs)}) -> "
            f"({tensors(self.outputs)}), {len(self.steps)} steps, {len(self.c_files)} C files, "
            f"{len(self.weights)} B weights, {self.workspace_bytes} B workspace"
        )
