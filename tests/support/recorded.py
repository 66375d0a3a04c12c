"""A runner that measures nothing: times follow from the decisions alone.

Where the file `kill` is in its directory, the process that takes it away dies at once.
"""

import hashlib
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ago.schedule.trace import Trace
from ago.tune.record import decisions_text
from ago.tune.trial import Job, Outcome

POISON = "test/poison"


@dataclass(frozen=True)
class Recorded:
    """Also its own factory, as it can be pickled.

    Attributes:
        directory: Where the file is.
        slow: How much slower than recorded.
    """

    directory: Path
    slow: float = 1.0
    host: str = "recorded"

    def __call__(self) -> "Recorded":
        return self

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        kill = self.directory / "kill"
        if kill.exists() or any(POISON in job.decisions for job in jobs):
            kill.unlink(missing_ok=True)
            (self.directory / "died").write_text(f"{os.getpid()}\n")
            os.kill(os.getpid(), signal.SIGKILL)
        return [self._outcome(job) for job in jobs]

    def _outcome(self, job: Job) -> Outcome:
        text = decisions_text(job.decisions)
        digest = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=2).digest())
        trace = Trace(job.task.key.workload).to_json()
        if digest % 7 == 0:
            return Outcome(job.decisions, trace, "wrong", reason="recorded")
        return Outcome(job.decisions, trace, "ok", self.slow * (1e-3 + 1e-7 * digest), 0.01)
