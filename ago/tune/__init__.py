"""Measuring schedules on a machine."""

from ago.tune.measure import Candidate, measure_candidates

__all__ = ["Candidate", "measure_candidates"]
