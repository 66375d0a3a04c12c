"""Automatic scheduling: sketches that emit traces and ask a chooser for their decisions."""

from ago.autoschedule.sketch import Sketched, schedule_program, sketch_program

__all__ = ["Sketched", "schedule_program", "sketch_program"]
