"""AGO: a compiler from trained neural networks to fast, standalone C for mobile CPUs."""

from ago.api import optimize
from ago.frontend import GraphBuilder, load
from ago.ir.graph import Graph

__all__ = ["Graph", "GraphBuilder", "load", "optimize"]
