"""Measuring schedules, and the machine that runs them."""

from ago.tune.machine import Machine, PeakProbe, measure_machine
from ago.tune.measure import Candidate, measure_candidates, run_candidate

__all__ = [
    "Candidate",
    "Machine",
    "PeakProbe",
    "measure_candidates",
    "measure_machine",
    "run_candidate",
]
