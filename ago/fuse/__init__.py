"""Fusion: which operators of a subgraph share a loop nest, and where each is computed and stored.

Read `FusionPlan` first. `fuse` applies a plan to a naive program, or raises `FusionError`;
`rank_plans` finds legal ones and ranks them by the analytic model.
"""

from ago.fuse.footprint import Footprint
from ago.fuse.nest import fuse
from ago.fuse.plan import FusionPlan, Nest, Placement
from ago.fuse.rank import NO_FUSION, FusionChoice, Ranking, rank_plans
from ago.fuse.report import Plans, SubgraphPlans

__all__ = [
    "NO_FUSION",
    "Footprint",
    "FusionChoice",
    "FusionPlan",
    "Nest",
    "Placement",
    "Plans",
    "Ranking",
    "SubgraphPlans",
    "fuse",
    "rank_plans",
]
