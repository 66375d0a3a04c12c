"""An emulated AArch64 core with memory: the part of emulation that talks to unicorn.

Read `Machine` first. It holds one loaded image and any number of arrays. Every array ends right
before unmapped memory and has the access rights its role allows, so an access outside of it stops
the run with its place instead of passing unnoticed.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from ago.errors import DeviceError, ToolchainError
from ago.runtime.build import library_suffix
from ago.runtime.cache import Cache
from ago.runtime.elf import Image
from ago.runtime.sources import csrc_path
from ago.runtime.toolchain import find_toolchain
from ago.target import TARGETS

IMAGE_BASE = 0x1000_0000
"""Where images are placed: `load_image(data, IMAGE_BASE)`."""

_PAGE = 0x1_0000
_RETURN_ADDRESS = 0x0800_0000
_STACK_TOP = 0x0F00_0000
_STACK_BYTES = 0x10_0000
_ARRAYS_BASE = 0x1_0000_0000
_FP_ENABLED = 3 << 20  # CPACR_EL1.FPEN
_FP_INEXACT = 1 << 4  # FPSR.IXC: once it is set, the emulator computes with the host's own FPU
_POLL_SECONDS = 0.2
_EXCEPTION_SVC = 2  # unicorn's number of the exception that a system call is
_ENOSYS = 38


class _Counter(ctypes.Structure):
    """`ago_block_counter` of ago_count_blocks.c."""

    _fields_ = (
        ("instructions", ctypes.c_uint64),
        ("blocks", ctypes.c_uint64),
        ("changes", ctypes.c_void_p),
        ("start", ctypes.c_uint64),
        ("count", ctypes.c_uint64),
    )


class Machine:
    """One core and its memory."""

    def __init__(self, image: Image) -> None:
        """Power on, with an image in memory.

        Args:
            image: Loaded at `IMAGE_BASE`.

        Raises:
            DeviceError: unicorn is not installed.
        """
        self._unicorn = import_unicorn()
        self._constants = importlib.import_module("unicorn.arm64_const")
        self._engine = self._unicorn.Uc(
            self._unicorn.UC_ARCH_ARM64,
            self._unicorn.UC_MODE_ARM,
            self._constants.UC_CPU_ARM64_MAX,
        )
        self._next_page = _ARRAYS_BASE
        self._arrays: list[tuple[int, int, str]] = []  # start, end, name
        self._fault: tuple[bool, int] | None = None  # is it a write, address
        self._refused = False  # whether an exception stopped it
        self._counter = _Counter()
        self._counts = self._add_hooks()
        self._map_image(image)
        self._map(_STACK_TOP - _STACK_BYTES, _STACK_BYTES, "rw")
        self._map(_RETURN_ADDRESS, _PAGE, "rx")
        self._set("CPACR_EL1", _FP_ENABLED)
        self._set("FPSR", _FP_INEXACT)

    @property
    def instructions(self) -> int | None:
        """Those of the latest call; None where no compiler was there to build the counter."""
        return self._counter.instructions if self._counts else None

    def watch(self, start: int, nbytes: int) -> Callable[[], npt.NDArray[np.int64]]:
        """Note from now on how often each instruction of a range is executed.

        Args:
            start: Address of the range.
            nbytes: Its size.

        Returns:
            A function that gives the counts so far, one for each 4 bytes.

        Raises:
            DeviceError: No host compiler is there to build the counter.
        """
        if not self._counts:
            raise DeviceError("counting instructions needs a C compiler for this machine")
        changes = np.zeros(nbytes // 4 + 1, np.int64)
        self._counter.changes = changes.ctypes.data
        self._counter.start, self._counter.count = start, nbytes // 4
        return lambda: np.cumsum(changes)[:-1]

    def place(
        self, name: str, content: npt.NDArray[Any], alignment: int, *, writable: bool = False
    ) -> int:
        """Copy an array into fresh memory.

        Args:
            name: What messages call it.
            content: A dense array.
            alignment: Bytes; the array ends at most this far from unmapped memory.
            writable: Whether the emulated code may write to it.

        Returns:
            Its address.
        """
        size = content.nbytes
        pages = (size // _PAGE + 1) * _PAGE
        address = (self._next_page + pages - size) // alignment * alignment
        self._map(self._next_page, pages, "rw" if writable else "r")
        self._engine.mem_write(address, content.tobytes())
        self._arrays.append((address, address + size, name))
        self._next_page += pages + _PAGE
        return address

    def read(self, address: int, size: int) -> bytes:
        """Copy `size` bytes out of memory."""
        return bytes(self._engine.mem_read(address, size))

    def call(
        self,
        entry: int,
        arguments: Sequence[int],
        timeout_seconds: float,
        progress: Callable[[int], None] | None,
    ) -> int:
        """Call a function and wait for it to return.

        Args:
            entry: Its address.
            arguments: Integers or pointers, at most eight.
            timeout_seconds: Wall time after which it is given up.
            progress: Called a few times a second with the instructions executed so far.

        Returns:
            Its result, an int32.

        Raises:
            DeviceError: It did not return: a fault, or out of time.
        """
        self._counter.instructions = 0
        for index, value in enumerate(arguments):
            self._set(f"X{index}", value)
        self._set("LR", _RETURN_ADDRESS)
        self._set("SP", _STACK_TOP)
        self._wait(self._start(entry), timeout_seconds, progress)
        result = self._engine.reg_read(self._constants.UC_ARM64_REG_W0)
        return int(np.uint32(result).astype(np.int32))

    def _start(self, entry: int) -> tuple[threading.Thread, list[Exception]]:
        """Run from `entry` in a thread, so that this one can watch the clock and the keyboard."""
        errors: list[Exception] = []

        def run() -> None:
            try:
                self._engine.emu_start(entry, _RETURN_ADDRESS)
                if self._refused:
                    raise self._unicorn.UcError(self._unicorn.UC_ERR_EXCEPTION)
            except self._unicorn.UcError as error:
                errors.append(error)

        thread = threading.Thread(target=run, name="ago-emulator", daemon=True)
        thread.start()
        return thread, errors

    def _wait(
        self,
        running: tuple[threading.Thread, list[Exception]],
        timeout_seconds: float,
        progress: Callable[[int], None] | None,
    ) -> None:
        thread, errors = running
        deadline = time.monotonic() + timeout_seconds
        try:
            while thread.is_alive():
                thread.join(min(_POLL_SECONDS, max(deadline - time.monotonic(), 0)))
                if progress is not None:
                    progress(self._counter.instructions)
                if thread.is_alive() and time.monotonic() >= deadline:
                    raise DeviceError(f"the emulated call did not end in {timeout_seconds} seconds")
        finally:
            while thread.is_alive():  # a stop before the emulation began would be lost: repeat
                self._engine.emu_stop()
                thread.join(0.01)
        if errors:
            raise DeviceError(self._explain(errors[0])) from errors[0]

    def _explain(self, error: Exception) -> str:
        place = self._engine.reg_read(self._constants.UC_ARM64_REG_PC) - IMAGE_BASE
        if self._fault is None:
            return f"the emulated code stopped at offset {place:#x} of the library: {error}"
        is_write, address = self._fault
        verb = "wrote to" if is_write else "read or jumped to"
        return (
            f"the emulated code at offset {place:#x} of the library {verb} address {address:#x}, "
            f"{self._nearest(address)}"
        )

    def _nearest(self, address: int) -> str:
        """Where an address lies relative to the closest array, in words."""
        if not self._arrays:
            return "where there is no memory"

        def distance(array: tuple[int, int, str]) -> int:
            return max(array[0] - address, address - array[1] + 1, 0)

        start, end, name = min(self._arrays, key=distance)
        if address >= end:
            return f"{address - end} bytes after the end of {name}"
        if address < start:
            return f"{start - address} bytes before {name}"
        return f"{address - start} bytes into {name}, which may not be written to"

    def _add_hooks(self) -> bool:
        """Note faults, answer system calls, count instructions if a counter can be built."""

        def note_fault(
            _engine: object, access: int, address: int, _size: int, _value: int, _data: object
        ) -> bool:
            is_write = access in (
                self._unicorn.UC_MEM_WRITE_UNMAPPED,
                self._unicorn.UC_MEM_WRITE_PROT,
            )
            self._fault = (is_write, address)
            return False

        def answer(_engine: object, number: int, _data: object) -> None:
            """Refuse system calls, as a sandbox would; stop at any other exception."""
            if number == _EXCEPTION_SVC:
                self._set("X0", -_ENOSYS & 0xFFFF_FFFF_FFFF_FFFF)
            else:
                self._refused = True
                self._engine.emu_stop()

        self._engine.hook_add(self._unicorn.UC_HOOK_INTR, answer)
        kinds = self._unicorn.UC_HOOK_MEM_UNMAPPED | self._unicorn.UC_HOOK_MEM_PROT
        self._engine.hook_add(kinds, note_fault)
        counter = _block_counter()
        if counter is None:
            return False
        # unicorn's Python layer only takes Python functions; its C interface takes the pointer.
        binding = importlib.import_module("unicorn.unicorn_py3.unicorn")
        handle = binding.uc_hook_h()
        everywhere = (1, 0)  # an empty range stands for all addresses
        status = binding.uclib.uc_hook_add(
            self._engine._uch,
            ctypes.byref(handle),
            self._unicorn.UC_HOOK_BLOCK,
            counter,
            ctypes.addressof(self._counter),
            *everywhere,
        )
        if status != self._unicorn.UC_ERR_OK:
            raise DeviceError(f"unicorn refused the instruction counter: error {status}")
        return True

    def _map_image(self, image: Image) -> None:
        for segment in image.segments:
            start = segment.address // _PAGE * _PAGE
            end = -(-(segment.address + len(segment.data)) // _PAGE) * _PAGE
            self._map_missing(start, end)
            self._engine.mem_write(segment.address, segment.data)

    def _map_missing(self, start: int, end: int) -> None:
        """Map the pages of a segment; neighbouring segments may share one, so rights are loose."""
        mapped = {
            page
            for first, last, _ in self._engine.mem_regions()
            for page in range(first, last + 1, _PAGE)
        }
        for page in range(start, end, _PAGE):
            if page not in mapped:
                self._map(page, _PAGE, "rwx")

    def _map(self, address: int, size: int, rights: str) -> None:
        bits = {
            "r": self._unicorn.UC_PROT_READ,
            "w": self._unicorn.UC_PROT_WRITE,
            "x": self._unicorn.UC_PROT_EXEC,
        }
        self._engine.mem_map(address, size, sum(bits[right] for right in rights))

    def _set(self, register: str, value: int) -> None:
        self._engine.reg_write(getattr(self._constants, f"UC_ARM64_REG_{register}"), value)


def import_unicorn() -> ModuleType:
    """The unicorn module, which is an optional dependency.

    Raises:
        DeviceError: It is not installed.
    """
    try:
        return importlib.import_module("unicorn")
    except ImportError as error:
        raise DeviceError('emulation needs unicorn: pip install "ago-compiler[emu]"') from error


def _block_counter() -> ctypes.c_void_p | None:
    """The C function `ago_count_block`, compiled once a machine; None without a compiler."""
    host = TARGETS["portable"]
    try:
        toolchain = find_toolchain(host)
    except ToolchainError:
        return None
    source = csrc_path("ago_count_blocks.c")
    file_name = f"ago_count_blocks{library_suffix()}"

    def fill(directory: Path) -> None:
        objects = toolchain.compile_objects([source], directory, host, include=[source.parent])
        toolchain.link_shared(objects, directory / file_name, host)

    content = source.read_bytes() + toolchain.fingerprint(host).encode()
    entry = Cache().get_or_build(hashlib.sha256(content).hexdigest(), fill)
    function = ctypes.CDLL(str(entry / file_name)).ago_count_block
    return ctypes.cast(function, ctypes.c_void_p)
