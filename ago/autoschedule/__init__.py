"""Automatic scheduling: sketches that emit traces and ask a chooser for their decisions."""

from ago.autoschedule.sketch import schedule_program

__all__ = ["schedule_program"]
