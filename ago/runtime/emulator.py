"""Running a compiled AArch64 library on any machine, and counting its instructions.

Read `Emulator` first. Each call starts from fresh memory with an uninitialised workspace, as the
first inference on a device would. One core of a laptop emulates about 0.2 GFLOP/s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ago.errors import DeviceError
from ago.runtime.artifact import ALIGNMENT, TensorInfo
from ago.runtime.elf import load_image
from ago.runtime.machine import IMAGE_BASE, Machine, import_unicorn

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class EmulatedRun:
    """What one emulated call did.

    Attributes:
        outputs: The output arrays.
        instructions: Executed from the entry of `NAME_run` to its return; None where no host
            compiler is there to build the counter.
        seconds: Wall time of the emulation, which says nothing about a device.
    """

    outputs: tuple[Array, ...]
    instructions: int | None
    seconds: float


class Emulator:
    """A compiled AArch64 library under unicorn.

    Attributes:
        path: The shared library.
    """

    def __init__(self, path: Path) -> None:
        """Load a library.

        Args:
            path: A libc-free shared library built for an AArch64 target.

        Raises:
            DeviceError: It cannot be loaded, or unicorn is not installed.
        """
        import_unicorn()
        self.path = path
        try:
            self._image = load_image(path.read_bytes(), IMAGE_BASE)
        except (DeviceError, OSError) as error:
            raise DeviceError(f"cannot emulate {path}: {error}") from error

    def run(
        self,
        name: str,
        inputs: Sequence[Array],
        output_shapes: Sequence[tuple[int, ...]],
        weights: bytes,
        workspace_bytes: int,
        *,
        output_dtypes: Sequence[str] | None = None,
        timeout_seconds: float = 600.0,
        progress: Callable[[int], None] | None = None,
    ) -> EmulatedRun:
        """Call `NAME_init`, then `NAME_run`.

        Args:
            name: What the names of both begin with.
            inputs: Arrays of the model's types; copied in row-major order.
            output_shapes: Shapes of the outputs.
            weights: The artifact's `weights_image`; read-only, like the inputs.
            workspace_bytes: Scratch memory to provide. It and the outputs are filled with ones,
                which are NaNs, so that a read of what was never written shows in the result.
            output_dtypes: Element types of the outputs; by default all are f32.
            timeout_seconds: Wall time after which the emulation is given up.
            progress: Called a few times a second with the instructions executed so far.

        Raises:
            DeviceError: A function is missing, accessed memory it was not given, executed an
                unknown instruction, returned an error code, or ran out of time.
        """
        init, entry = self._function(f"{name}_init"), self._function(f"{name}_run")
        machine = Machine(self._image)
        input_places = [
            machine.place(f"input {index}", array, array.itemsize)
            for index, array in enumerate(map(np.asarray, inputs))
        ]
        dtypes = output_dtypes or ["f32"] * len(output_shapes)
        infos = [
            TensorInfo(f"output {index}", tuple(shape), dtype)
            for index, (shape, dtype) in enumerate(zip(output_shapes, dtypes, strict=True))
        ]
        output_places = [
            machine.place(info.name, info.unwritten(), info.numpy.itemsize, writable=True)
            for info in infos
        ]
        workspace = np.full(workspace_bytes, 0xFF, np.uint8)  # all ones is a NaN
        context = machine.place("the context", np.full(32, 0xFF, np.uint8), 8, writable=True)
        weights_place = machine.place("the weights", np.frombuffer(weights, np.uint8), ALIGNMENT)
        workspace_place = machine.place("the workspace", workspace, ALIGNMENT, writable=True)
        tables = [
            machine.place("the table of inputs", np.array(input_places, np.uint64), 8),
            machine.place("the table of outputs", np.array(output_places, np.uint64), 8),
        ]
        memory = [weights_place, len(weights), workspace_place, workspace_bytes]
        start = time.perf_counter()
        _check(f"{name}_init", machine.call(init, [context, *memory], timeout_seconds, None))
        code = machine.call(entry, [context, *tables], timeout_seconds, progress)
        seconds = time.perf_counter() - start
        _check(f"{name}_run", code)
        outputs = tuple(
            np.frombuffer(machine.read(place, info.bytes), info.numpy).reshape(info.shape)
            for place, info in zip(output_places, infos, strict=True)
        )
        return EmulatedRun(outputs, machine.instructions, seconds)

    def _function(self, symbol: str) -> int:
        """The address of a function that the library exports."""
        if symbol not in self._image.symbols:
            names = ", ".join(sorted(self._image.symbols))
            raise DeviceError(f"{self.path} has no function {symbol!r}; it exports: {names}")
        return self._image.symbols[symbol]


def _check(function: str, code: int) -> None:
    if code != 0:
        raise DeviceError(f"{function} returned error code {code}")
