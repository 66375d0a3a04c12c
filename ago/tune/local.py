"""The runner of this machine.

Read `LocalRunner` first: every candidate runs in a process of its own program, never in this one.
"""

from __future__ import annotations

from ago.runtime.transport import LocalTransport
from ago.tune.device_runner import DeviceRunner
from ago.tune.trial_run import Limits


class LocalRunner(DeviceRunner):
    """Times candidates on this machine.

    Args:
        limits: What a trial may take.
        batch: Candidates in one program, at most.
        jobs: Compilers run at once; by default one for each CPU.
        seed: Of the operands.
        cpu: CPU that candidates run on; by default any.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        batch: int = 16,
        jobs: int | None = None,
        seed: int = 0,
        cpu: int | None = None,
    ) -> None:
        super().__init__(LocalTransport(), limits, batch=batch, jobs=jobs, seed=seed, cpu=cpu)
