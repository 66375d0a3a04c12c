"""Threads that share an inference: the pool of `csrc/ago_pool.c`, made for this process.

Read `ThreadPool` first. Its threads sleep while there is nothing to do.
"""

from __future__ import annotations

import functools
import hashlib
import os
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from ago.errors import DeviceError, InputError
from ago.runtime.build import library_suffix
from ago.runtime.cache import Cache
from ago.runtime.sources import csrc_path
from ago.runtime.toolchain import find_toolchain
from ago.target import resolve_target

Affinity = Literal["big", "none"] | Sequence[int]
"""Which CPUs the threads stay on: the fastest kind, any, or these in turn."""

_FILES = ("ago_pool.c", "ago_pool.h", "ago_runtime.h")
_DECLARATIONS = """
typedef struct ago_pool ago_pool;
ago_pool *ago_pool_create(int32_t threads, const int32_t *cpus);
void ago_pool_destroy(ago_pool *pool);
"""


class ThreadPool:
    """Threads for compiled models; one run at a time, others wait.

    Attributes:
        threads: How many, the calling one among them.
        lock: Held while a model runs on the pool.
    """

    def __init__(self, threads: int, affinity: Affinity = "big") -> None:
        """Start the threads.

        Args:
            threads: How many, the calling one among them.
            affinity: `"big"` binds them to the CPUs of the highest capacity where the system has
                several kinds (`cpu_capacity` in sysfs), `"none"` to none; or numbers of CPUs. The
                calling thread is never bound.

        Raises:
            InputError: A number is no CPU of this machine.
            DeviceError: The system refuses threads.
            ToolchainError: There is no C compiler, or it failed.
        """
        ffi, library = _load()
        self.threads = threads
        self.lock = threading.Lock()
        cpus = ffi.new("int32_t[]", chosen_cpus(threads, affinity) or [-1])
        self.handle: Any = library.ago_pool_create(threads, cpus)
        if self.handle == ffi.NULL:
            raise DeviceError(f"the system refuses a pool of {threads} threads")
        self._end = weakref.finalize(self, library.ago_pool_destroy, self.handle)

    def close(self) -> None:
        """End the threads; no run may be under way."""
        self._end()


def chosen_cpus(threads: int, affinity: Affinity) -> list[int]:
    """The CPU of each thread but the first, -1 for any.

    Args:
        threads: How many threads.
        affinity: See `ThreadPool`.

    Raises:
        InputError: A number is no CPU of this machine.
    """
    others = threads - 1
    if affinity == "none":
        return [-1] * others
    if affinity == "big":
        big = big_cpus()
        return [-1] * others if not big else [big[k % len(big)] for k in range(1, threads)]
    count = os.cpu_count() or 1
    is_list = isinstance(affinity, Sequence) and not isinstance(affinity, str)
    numbers = tuple(affinity) if is_list else ()
    if not numbers or any(type(cpu) is not int or not 0 <= cpu < count for cpu in numbers):
        raise InputError(f"affinity={affinity!r}: expected 'big', 'none' or numbers of CPUs")
    return [numbers[k % len(numbers)] for k in range(1, threads)]


def big_cpus(root: Path = Path("/sys/devices/system/cpu")) -> list[int]:
    """CPUs of the highest capacity, where some have less; else none.

    Args:
        root: Where Linux describes its CPUs.
    """
    capacities: dict[int, int] = {}
    for path in root.glob("cpu[0-9]*/cpu_capacity"):
        try:
            capacities[int(path.parent.name.removeprefix("cpu"))] = int(path.read_text())
        except (OSError, ValueError):
            continue  # a CPU that is offline
    highest = max(capacities.values(), default=0)
    if min(capacities.values(), default=0) == highest:
        return []
    return sorted(cpu for cpu, capacity in capacities.items() if capacity == highest)


@functools.cache
def _load() -> tuple[Any, Any]:
    """The interface and the library of the pool, compiled once for this machine."""
    import cffi  # deferred: its parser of C declarations takes 0.1 s to import

    host = resolve_target("host")
    compiler = find_toolchain(host)
    digest = hashlib.sha256(compiler.fingerprint(host).encode())
    for name in _FILES:
        digest.update(csrc_path(name).read_bytes())
    file_name = f"libago_pool{library_suffix()}"

    def fill(directory: Path) -> None:
        source = csrc_path("ago_pool.c")
        objects = compiler.compile_objects([source], directory, host, include=[source.parent])
        compiler.link_with_libc(objects, directory / file_name, host)

    path = Cache().get_or_build(digest.hexdigest(), fill) / file_name
    ffi = cffi.FFI()
    ffi.cdef(_DECLARATIONS)
    return ffi, ffi.dlopen(str(path))
