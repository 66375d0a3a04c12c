"""What one core of this machine can do: FMA peak of each instruction set, bandwidth of each level.

Read `Machine` and `measure_machine` first. All figures are the best of many short runs, so they are
what the core reaches when nothing disturbs it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ago.ir.work import Work
from ago.runtime.library import aligned_array
from ago.runtime.native import load_native
from ago.runtime.sources import csrc_path
from ago.target import TARGETS, Target, detect_host, runs_on_host

_DECLARATIONS = """
int32_t ago_fma_flop(void);
float ago_fma(int64_t times, float factor, float addend);
float ago_read(const float *source, int64_t bytes, int64_t times);
void ago_copy(float *target, const float *source, int64_t bytes, int64_t times);
"""

_BATCH_SECONDS = 5e-4
_ROUNDS = 40
_BLOCK = 1024  # sizes of buffers are multiples of it, bytes
_SHARE = 0.75  # of a cache that a kernel's data may fill and still be said to live there


@dataclass(frozen=True, slots=True)
class Level:
    """A level of the memory hierarchy.

    Attributes:
        name: `L1`, `L2`, `L3` or `memory`.
        capacity: Bytes; infinite for memory.
        read: Bytes read a second from a buffer that lives there.
        copy: Bytes copied a second between two buffers that live there: each is read and written.
    """

    name: str
    capacity: float
    read: float
    copy: float

    def seconds(self, read_bytes: float, written_bytes: float) -> float:
        """Least time to read and write so much: a written byte costs what copying adds to reading.

        Args:
            read_bytes: Bytes read.
            written_bytes: Bytes written.
        """
        store = max(1.0 / self.copy - 1.0 / self.read, 0.5 / self.copy)
        return read_bytes / self.read + written_bytes * store


@dataclass(frozen=True, slots=True)
class Machine:
    """One core of this machine.

    Attributes:
        host: Its description, as `host` resolves.
        peaks: FLOP a second of multiply-adds from registers, by instruction set.
        levels: Caches and memory, fastest first.
    """

    host: Target
    peaks: Mapping[str, float]
    levels: tuple[Level, ...]

    @property
    def peak(self) -> float:
        """FLOP a second of the host's instruction set."""
        return self.peaks[self.host.isa]

    def least_seconds(self, work: Work) -> float:
        """Time in which the host's instruction set could do some work at best.

        Either the arithmetic takes as long, or its data, from the level in which they all fit.

        Args:
            work: What is computed and touched.
        """
        level = self.level_of(work.read_bytes + work.written_bytes)
        return max(work.flop / self.peak, level.seconds(work.read_bytes, work.written_bytes))

    def level_of(self, nbytes: float) -> Level:
        """The level in which data of so many bytes live when they are used again and again."""
        fitting = (level for level in self.levels if nbytes <= _SHARE * level.capacity)
        return next(fitting, self.levels[-1])


class PeakProbe:
    """Runs multiply-adds for a fraction of a millisecond, to be put between other measurements.

    Args:
        target: Its instruction set; this machine must be able to run it.
    """

    def __init__(self, target: Target) -> None:
        _, library = load_native(csrc_path("ago_machine.c"), _DECLARATIONS, target)
        self._library = library  # its functions do not keep it loaded
        self._fma: Callable[[int, float, float], float] = library.ago_fma
        self._flop = int(library.ago_fma_flop())
        self._times = batch_size(lambda times: self._fma(times, 0.5, 1.0))

    def sample(self) -> float:
        """FLOP a second of one short run."""
        begin = time.perf_counter()
        self._fma(self._times, 0.5, 1.0)
        return self._flop * self._times / (time.perf_counter() - begin)


def batch_size(run: Callable[[int], object], seconds: float = _BATCH_SECONDS) -> int:
    """How many times `run(times)` should repeat to last about so long.

    Args:
        run: Repeats something.
        seconds: Wanted duration.
    """
    times = 1
    while True:
        best = min(_timed(run, times) for _ in range(3))
        if best >= seconds / 8:
            return max(1, round(times * seconds / best))
        times *= 4


def measure_machine() -> Machine:
    """Measure this machine; takes some seconds."""
    host = detect_host()
    peaks: dict[str, float] = {
        target.isa: max(probe.sample() for _ in range(_ROUNDS))
        for target in _instruction_sets(host)
        for probe in [PeakProbe(target)]
    }
    return Machine(host, peaks, tuple(_levels(host, _Streams(host))))


def _instruction_sets(host: Target) -> list[Target]:
    """The host and the other instruction sets that it can run, each once."""
    found = {host.isa: host}
    for target in TARGETS.values():
        if target.isa != "portable" and runs_on_host(target):
            found.setdefault(target.isa, target)
    return list(found.values())


class _Streams:
    """Reads and copies of buffers."""

    def __init__(self, host: Target) -> None:
        self._ffi, library = load_native(csrc_path("ago_machine.c"), _DECLARATIONS, host)
        self._library = library  # its functions do not keep it loaded
        self._read: Callable[[object, int, int], float] = library.ago_read
        self._copy: Callable[[object, object, int, int], None] = library.ago_copy

    def level(self, name: str, capacity: float, working_set: int) -> Level:
        """Measure with a working set that fills the level without spilling out of it."""
        half = working_set // 2 // _BLOCK * _BLOCK
        source, target = (aligned_array(half // 4, np.float32) for _ in range(2))
        source[:] = target[:] = 1.0  # untouched pages would all be one page of zeros
        a, b = (self._ffi.cast("float *", array.ctypes.data) for array in (source, target))
        read = _rate(lambda times: self._read(a, half, times))
        copy = _rate(lambda times: self._copy(b, a, half, times))
        return Level(name, capacity, half * read, half * copy)


def _levels(host: Target, streams: _Streams) -> list[Level]:
    caches = [("L1", host.l1_bytes), ("L2", host.l2_bytes), ("L3", host.l3_bytes)]
    present = [(name, size) for name, size in caches if size]
    levels = []
    below = 0
    for name, size in present:
        levels.append(streams.level(name, float(size), max(size // 2, 2 * below)))
        below = size
    memory = max(4 * below, 128 * 1024 * 1024)
    return [*levels, streams.level("memory", float("inf"), memory)]


def _rate(run: Callable[[int], object]) -> float:
    """Repetitions a second, the best of some rounds."""
    times = batch_size(run)
    return times / min(_timed(run, times) for _ in range(_ROUNDS))


def _timed(run: Callable[[int], object], times: int) -> float:
    begin = time.perf_counter()
    run(times)
    return time.perf_counter() - begin
