"""A compiled model that runs on this machine: numpy in, numpy out.

Read `Net` first. Calls may come from several threads: each takes its own workspace.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ago.errors import InputError
from ago.progress import Progress, silent
from ago.runtime.anatomy import Anatomy
from ago.runtime.artifact import Artifact, TensorInfo
from ago.runtime.build import code_sizes
from ago.runtime.device_profile import profile_on
from ago.runtime.export import Exported, WeightsForm, export_artifact
from ago.runtime.library import Library, Session, aligned_array, aligned_bytes
from ago.runtime.memory import MemoryReport
from ago.runtime.pool import ThreadPool
from ago.runtime.profile import Profile, profile_steps
from ago.runtime.store import open_library
from ago.runtime.transport import Transport
from ago.runtime.verify import VerifyReport, random_inputs, verify_net
from ago.target import runs_on_host

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]


class Net:
    """A compiled model, loaded into this process.

    Args:
        artifact: What was compiled.
        library: The loaded code; None where this machine cannot run it.
        weights: The artifact's `weights_image`, 64-byte aligned.
        anatomy: Gives the inside of the model, which `verify` needs.
    """

    def __init__(
        self,
        artifact: Artifact,
        library: Library | None,
        weights: Bytes,
        anatomy: Callable[[], Anatomy],
    ) -> None:
        self.artifact = artifact
        self._anatomy = anatomy
        self._library = library
        self._weights = weights
        self._local = threading.local()
        self._inputs = tuple((info.name, info.numpy, info.shape) for info in artifact.inputs)
        self._outputs = tuple((info.name, info.numpy, info.shape) for info in artifact.outputs)

    def __call__(self, *arrays: npt.ArrayLike) -> Array | tuple[Array, ...]:
        """Run the model on its inputs in order.

        Args:
            *arrays: One array for each input, in the model's types and shapes.

        Returns:
            The output, or a tuple of all outputs where the model has several.

        Raises:
            InputError: Number, shape or dtype of the arrays is wrong; says what was expected.
        """
        infos = self.artifact.inputs
        if len(arrays) != len(infos):
            raise InputError(
                f"the model takes {len(infos)} inputs, not {len(arrays)}: {_list(infos)}"
            )
        named = {info.name: array for info, array in zip(infos, arrays, strict=True)}
        outputs = tuple(self.run(named).values())
        return outputs[0] if len(outputs) == 1 else outputs

    def run(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        """Run the model once.

        Args:
            inputs: One array for each input, of its type, by the model's own names.

        Returns:
            The outputs by the model's names, in the model's order; row-major.

        Raises:
            InputError: A name, shape or dtype is wrong; says what was expected.
        """
        arrays = self._ready(inputs)
        if arrays is None:
            arrays = check_inputs(self.artifact.inputs, inputs)
        outputs = [np.empty(shape, dtype) for _, dtype, shape in self._outputs]
        self.session().run(arrays, outputs)
        return {name: array for (name, _, _), array in zip(self._outputs, outputs, strict=True)}

    def _ready(self, inputs: Mapping[str, npt.ArrayLike]) -> list[Array] | None:
        """The arrays in order if each is just as the model takes it; else None."""
        if type(inputs) is not dict or len(inputs) != len(self._inputs):
            return None
        arrays: list[Array] = []
        for name, dtype, shape in self._inputs:
            array = inputs.get(name)
            if type(array) is not np.ndarray or array.dtype != dtype or array.shape != shape:
                return None
            if not (array.flags.c_contiguous and array.flags.aligned):
                return None
            arrays.append(array)
        return arrays

    def step(
        self, index: int, inputs: Sequence[Array], outputs: Sequence[Array], workspace: Bytes
    ) -> None:
        """Run one subgraph on the caller's workspace; see `Library.step`."""
        self._loaded().step(index, inputs, outputs, self._weights, workspace)

    def verify(
        self, inputs: Mapping[str, npt.ArrayLike] | None = None, *, seed: int = 0
    ) -> VerifyReport:
        """Compare with the float64 reference: each step on the reference's inputs, then the whole.

        Args:
            inputs: One array for each input; by default those of `random_inputs`.
            seed: Seed of the default inputs.

        Returns:
            The errors, relative to the largest absolute value.

        Raises:
            VerificationError: The model is wrong: names the node or the fusion at fault.
            InputError: See `run`.
        """
        self._loaded()
        infos = self.artifact.inputs
        given = inputs or random_inputs(infos, seed)
        arrays = check_inputs(infos, given)
        named = {info.name: array for info, array in zip(infos, arrays, strict=True)}
        return verify_net(self, self.anatomy, named)

    def profile(
        self,
        inputs: Mapping[str, npt.ArrayLike] | None = None,
        *,
        rounds: int = 30,
        seed: int = 0,
        runner: str | Transport | None = None,
    ) -> Profile:
        """Time each step inside the model, on one thread, beside what the machine can do.

        The first profile of a process measures the machine, which takes some seconds.

        Args:
            inputs: One array for each input; by default those of `random_inputs`.
            rounds: How often the model runs; a step's time is that of its fastest run.
            seed: Seed of the default inputs.
            runner: A device that runs it instead of this process: `"ssh:HOST"`, `"adb"`,
                `"adb:SERIAL"`, `"qemu"`, `"local"` for a program here, or a `Transport`.

        Returns:
            Time, arithmetic, bytes and share of the roofline of each step; print it. Of a device
            also its clock and temperature before and after, where it tells them, and a warning
            where it slowed down.

        Raises:
            InputError: See `run`; or there are no rounds, or no such device.
            DeviceError: The device cannot be reached, or cannot run the model.
        """
        if rounds < 1:
            raise InputError(f"rounds={rounds}: expected at least 1")
        infos = self.artifact.inputs
        arrays = check_inputs(infos, inputs or random_inputs(infos, seed))
        if runner is not None:
            feeds = {info.name: array for info, array in zip(infos, arrays, strict=True)}
            return profile_on(runner, self.artifact, self.anatomy, feeds, rounds)
        outputs = [np.empty(shape, dtype) for _, dtype, shape in self._outputs]
        session = self.session()
        session.point(arrays, outputs)
        return profile_steps(session, self.artifact, self.anatomy, rounds)

    def memory(self) -> MemoryReport:
        """What the model needs of memory: code, weights, workspace, and the peak at each step.

        The workspace is compared with its lower bound, the most bytes that are live at once, and
        with what it would be in the order of the model's file, and without fusion. Compiles the C
        once more, to read the sizes of its functions.

        Returns:
            The report; print it, or take its `to_dict()` or `to_html()`.
        """
        return MemoryReport.of(self.artifact, self.anatomy.memory(), code_sizes(self.artifact))

    @property
    def anatomy(self) -> Anatomy:
        """The inside of the model; compiles it again where it came from the cache."""
        return self._anatomy()

    @property
    def partition(self) -> object:
        """The subgraphs with their weights, beside other partitions of the model; print it.

        An `ago.partition.PartitionSummary`.
        """
        return self.anatomy.partition()

    @property
    def plans(self) -> object:
        """What shares a loop nest in each step, and why other plans lost; print it.

        An `ago.fuse.Plans`.
        """
        return self.anatomy.plans()

    @property
    def source(self) -> str:
        """All generated C, each file under a comment with its name."""
        files = self.artifact.sources
        return "\n".join(f"/* ==== {name} ==== */\n{files[name]}" for name in sorted(files))

    def __str__(self) -> str:
        return str(self.artifact)

    def export(
        self,
        directory: str | os.PathLike[str],
        *,
        weights: WeightsForm = "file",
        overwrite: bool = False,
    ) -> Exported:
        """Write the model as a folder of C that builds on its own, without Python.

        It holds sources, `NAME.h`, which documents the interface, the weights, a Makefile, a CMake
        file, an example that times the model, and `manifest.json`. The same model, target and
        options give the same bytes.

        Args:
            directory: Created if missing; files of an earlier export are replaced.
            weights: `"file"` leaves them in `NAME.weights`, for the program to map or read;
                `"incbin"` has the assembler include that file, `"array"` makes them a C array.
            overwrite: Replace also files of these names that AGO did not write.

        Returns:
            What was written; print it.

        Raises:
            InputError: There is no such form of weights, the folder cannot be written, or it holds
                a file of these names that is not AGO's, or was changed since.
        """
        if not isinstance(directory, (str, os.PathLike)) or not os.fspath(directory):
            raise InputError(f"directory={directory!r}: the path of a folder is expected")
        return export_artifact(self.artifact, Path(directory), weights=weights, overwrite=overwrite)

    def _loaded(self) -> Library:
        """The loaded code.

        Raises:
            InputError: This machine cannot run it.
        """
        if self._library is None:
            raise InputError(
                f"this machine cannot run code for {self.artifact.target.name}: `export` writes it "
                "as C for that machine, and tools/cross_build.py builds and emulates it"
            )
        return self._library

    def session(self) -> Session:
        """The calling thread's session, made with its workspace at its first call."""
        session: Session | None = getattr(self._local, "session", None)
        if session is None:
            workspace = aligned_array(self.artifact.workspace_bytes, np.uint8)
            counts = len(self._inputs), len(self._outputs)
            session = Session(self._loaded(), *counts, self._weights, workspace)
            self._local.session = session
        return session


def open_net(
    artifact: Artifact,
    anatomy: Callable[[], Anatomy],
    progress: Progress = silent,
    pool: ThreadPool | None = None,
) -> Net:
    """Build an artifact's library, or find it in the cache, and load it, if it can run here.

    Args:
        artifact: A compiled model.
        anatomy: Gives the inside of the model, when it is asked for.
        progress: Told how many C files are compiled.
        pool: Threads to share runs with.

    Returns:
        The runnable model.

    Raises:
        ToolchainError: There is no C compiler, or it failed.
        DeviceError: The library cannot be loaded.
    """
    library = open_library(artifact, progress, pool) if runs_on_host(artifact.target) else None
    return Net(artifact, library, aligned_bytes(artifact.weights_image), anatomy)


def check_inputs(infos: Sequence[TensorInfo], inputs: Mapping[str, npt.ArrayLike]) -> list[Array]:
    """The arrays in order, checked; dense arrays are not copied.

    Raises:
        InputError: A name, shape or dtype is wrong; says what was expected.
    """
    if not isinstance(inputs, Mapping):
        kind = type(inputs).__name__
        raise InputError(f"inputs are arrays by name, not a {kind}; the model takes {_list(infos)}")
    known = {info.name for info in infos}
    unknown = sorted(map(str, set(inputs) - known))
    missing = sorted(known - set(inputs))
    if unknown or missing:
        parts = [f"no input is called {', '.join(unknown)}"] if unknown else []
        parts += [f"missing: {', '.join(missing)}"] if missing else []
        raise InputError(f"{'; '.join(parts)}; the model takes {_list(infos)}")
    arrays = []
    for info in infos:
        array = _to_array(info, inputs[info.name])
        if array.dtype != info.numpy or array.shape != info.shape:
            raise InputError(
                f"input {info.name} is {array.dtype}{list(array.shape)}, "
                f"expected {info.numpy}{list(info.shape)}"
            )
        arrays.append(np.require(array, requirements=["C", "A"]).reshape(info.shape))
    return arrays


def _to_array(info: TensorInfo, given: npt.ArrayLike) -> npt.NDArray[np.generic]:
    try:
        return np.asarray(given)
    except ValueError as error:
        raise InputError(f"input {info.name} is no array: {error}") from error


def _list(infos: Sequence[TensorInfo]) -> str:
    return ", ".join(map(str, infos)) or "no inputs"
