"""AGO: a compiler from trained neural networks to fast, standalone C for mobile CPUs."""

from ago.api import optimize
from ago.errors import AgoError
from ago.frontend import GraphBuilder, from_torch, load
from ago.ir.graph import Graph
from ago.version import __version__

__all__ = ["AgoError", "Graph", "GraphBuilder", "__version__", "from_torch", "load", "optimize"]
