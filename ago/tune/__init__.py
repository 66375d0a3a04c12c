"""Measuring schedules, and the machine that runs them."""

from ago.tune.device_runner import DeviceRunner
from ago.tune.executor import ExecutorRunner
from ago.tune.local import LocalRunner
from ago.tune.machine import Machine, PeakProbe, measure_machine
from ago.tune.measure import Candidate, measure_candidates, run_candidate
from ago.tune.trial_run import Limits

__all__ = [
    "Candidate",
    "DeviceRunner",
    "ExecutorRunner",
    "Limits",
    "LocalRunner",
    "Machine",
    "PeakProbe",
    "measure_candidates",
    "measure_machine",
    "run_candidate",
]
