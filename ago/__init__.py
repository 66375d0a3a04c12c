"""AGO: a compiler from trained neural networks to fast, standalone C for mobile CPUs."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from ago.api import optimize
from ago.errors import AgoError
from ago.frontend import GraphBuilder, from_torch, load
from ago.ir.graph import Graph
from ago.version import __version__

__all__ = ["AgoError", "Graph", "GraphBuilder", "__version__", "from_torch", "load", "optimize"]

if TYPE_CHECKING:
    from ago import lab as lab
    from ago import models as models
    from ago import plots as plots
else:

    def __getattr__(name: str) -> ModuleType:
        """The modules that are imported when they are first used."""
        if name in ("lab", "models", "plots"):
            return importlib.import_module(f"ago.{name}")
        raise AttributeError(f"module 'ago' has no attribute {name!r}")
