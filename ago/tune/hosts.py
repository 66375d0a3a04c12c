"""Several devices of one kind as one runner.

Read `HostsRunner` first. Each batch goes to the next device that is free; one that is lost for good
is left out, and its batch runs elsewhere.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ago.errors import DeviceError
from ago.tune.device_runner import DeviceRunner
from ago.tune.executor import ExecutorRunner
from ago.tune.trial import Job, Outcome, Runner


class _LostDeviceError(Exception):
    """A device is gone, and others are left."""


class _Devices:
    """Lends each batch a device; also the factory of itself, since all threads share it."""

    def __init__(self, runners: Sequence[Runner]) -> None:
        self.host = runners[0].host
        self._free: queue.SimpleQueue[Runner | None] = queue.SimpleQueue()
        self._left = len(runners)
        self._lock = threading.Lock()
        for runner in runners:
            self._free.put(runner)

    def __call__(self) -> Runner:
        return self

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        runner = self._free.get()
        if runner is None:
            self._free.put(None)  # for the next one that waits
            raise DeviceError("all devices are lost")
        try:
            outcomes = runner.run(jobs)
        except DeviceError as error:
            with self._lock:
                self._left -= 1
            if self._left == 0:
                self._free.put(None)
                raise
            raise _LostDeviceError(str(error)) from error
        except BaseException:
            self._free.put(runner)
            raise
        self._free.put(runner)
        return outcomes


class HostsRunner(ExecutorRunner):
    """One runner of several devices.

    Args:
        runners: One for each device; all of one kind, since their times are compared. The first
            one's host is that of all.
        batch: Jobs on one device at once, at most.
    """

    def __init__(self, runners: Sequence[DeviceRunner], *, batch: int = 4) -> None:
        devices = _Devices(runners)
        self._runners = tuple(runners)
        self._pool = ThreadPoolExecutor(len(runners), thread_name_prefix="ago-device")
        super().__init__(self._pool, devices, batch=batch, host=devices.host)

    def close(self) -> None:
        """Let go of the devices."""
        self._pool.shutdown(cancel_futures=True)
        for runner in self._runners:
            runner.close()
