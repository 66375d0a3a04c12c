"""From a job to a candidate: its decisions made a schedule, and the schedule C.

Read `make_candidate` first. Nothing is compiled or run here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ago.autoschedule import sketch_program
from ago.backends import INTRINSICS
from ago.codegen.emit import emit_function
from ago.errors import AgoError
from ago.ir.verify import verify
from ago.schedule.chooser import Decision, GuidedChooser
from ago.schedule.trace import Trace
from ago.tune.measure import Candidate
from ago.tune.noise import Timing
from ago.tune.record import Status
from ago.tune.trial import Job, Outcome


@dataclass(frozen=True, slots=True)
class Made:
    """A job with its code.

    Attributes:
        decisions: All decisions of the schedule, which replay it.
        trace: The frozen schedule as JSON.
        candidate: Program and C function.
    """

    decisions: Mapping[str, Decision]
    trace: str
    candidate: Candidate

    def timed(self, timing: Timing) -> Outcome:
        """The outcome of a candidate that ran and agreed."""
        return Outcome(self.decisions, self.trace, "ok", timing.seconds, timing.spread)

    def failed(self, status: Status, reason: str) -> Outcome:
        """The outcome of one that did not."""
        return Outcome(self.decisions, self.trace, status, reason=reason)


def make_candidate(job: Job) -> Made | Outcome:
    """Schedule a job and generate its function.

    Args:
        job: The workload and the wanted decisions.

    Returns:
        The candidate; or the outcome `"build"`, where primitives or generator refuse it.
    """
    task = job.task
    if task.program.extern is not None:
        return _refused(job, "a function of the runtime computes it: there is nothing to schedule")
    try:
        chooser = GuidedChooser(job.decisions)
        made = sketch_program(
            task.program, task.target, chooser, intensive_fusion=task.intensive
        ).schedule
        verify(made.program)
        function = emit_function(made.program, task.target, INTRINSICS[task.target.isa])
    except AgoError as error:
        return _refused(job, str(error).split("\n", maxsplit=1)[0])
    decisions = {choice.key: choice.value for choice in made.choices}
    return Made(decisions, made.trace.to_json(), Candidate(made.program, function))


def _refused(job: Job, reason: str) -> Outcome:
    return Outcome(job.decisions, Trace(job.task.key.workload).to_json(), "build", reason=reason)
