"""A model as a folder of C that builds on its own, on a machine without Python.

Read `export_artifact` (`folder.py`) first. Invariant: the bytes of the folder depend on the
artifact and on how its weights are kept, and on nothing else.
"""

from ago.runtime.export.build_files import cross_arguments
from ago.runtime.export.folder import Exported, WeightsForm, export_artifact

__all__ = ["Exported", "WeightsForm", "cross_arguments", "export_artifact"]
