"""Fusion plans for reading: of every subgraph the plan that was taken, and why the others lost.

Read `SubgraphPlans` first; `print` shows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ago.fuse.footprint import Footprint
from ago.fuse.pieces import Piece
from ago.fuse.plan import Nest, Placement
from ago.fuse.rank import FusionChoice, NestChoice, RankedPlan


@dataclass(frozen=True, slots=True)
class SubgraphPlans:
    """The plans of one subgraph.

    Attributes:
        label: Its operators.
        origins: The graph's node that each stage came from.
        choice: The plans, and the one that was taken.
    """

    label: str
    origins: Mapping[str, str]
    choice: FusionChoice

    def to_dict(self) -> dict[str, object]:
        """The plans as plain data; sizes in bytes, gains in cycles of the model."""
        taken = self.choice.taken
        return {
            "subgraph": self.label,
            "plan": str(taken.plan),
            "cycles": round(taken.cycles),
            "nests": [_nest_data(choice) for choice in taken.choices],
            "others": {str(p.plan): round(p.cycles) for p in self._others()},
            "refused": dict(self.choice.ranking.refused),
        }

    def __str__(self) -> str:
        taken = self.choice.taken
        lines = [f"{self.label}: {taken.plan}"]
        for choice in taken.choices:
            lines += [f"  {line}" for line in self._nest_lines(choice)]
        lines += [f"  lost: {self._lost(other, taken)}" for other in self._others()]
        lines += [f"  cannot: {what}: {_first_line(why)}" for what, why in self._refused()]
        return "\n".join(lines)

    def _others(self) -> list[RankedPlan]:
        ranking = self.choice.ranking
        return [plan for plan in ranking.plans if plan.plan != self.choice.taken.plan]

    def _refused(self) -> tuple[tuple[str, str], ...]:
        return self.choice.ranking.refused

    def _nest_lines(self, choice: NestChoice) -> Iterator[str]:
        nest = choice.nest
        yield " + ".join(self._name(piece) for piece in choice.pieces)
        yield f"  {choice.gain}; saves {choice.gain.saved_bytes:,} B"
        for placement, found in zip(nest.producers, choice.footprints, strict=True):
            factor = float(choice.recompute[placement.stage])
            text = _placement_text(placement, found, nest)
            yield f"  {placement.stage}: {text}; recompute {factor:.2f}"
        for stage in nest.beside:
            yield f"  {stage}: a result of its own, computed at {nest.loop}"

    def _name(self, piece: Piece) -> str:
        stages = [s for s in (piece.reduction, piece.output) if s is not None]
        nodes = dict.fromkeys(self.origins.get(stage, stage) for stage in stages)
        return f"{piece.output} ({', '.join(nodes)})"

    def _lost(self, other: RankedPlan, taken: RankedPlan) -> str:
        less = taken.cycles - other.cycles
        why = "; ".join(str(choice.gain) for choice in other.choices) or "no nest is shared"
        return f"{other.plan}: {less:,.0f} cycles behind: {why}"


@dataclass(frozen=True, slots=True)
class Plans:
    """The plans of all subgraphs of a model, in order of execution; print it."""

    subgraphs: tuple[SubgraphPlans, ...]

    def to_dict(self) -> list[dict[str, object]]:
        """The plans as plain data."""
        return [plans.to_dict() for plans in self.subgraphs]

    def __str__(self) -> str:
        return "\n".join(f"step {n}: {plans}" for n, plans in enumerate(self.subgraphs))


def _placement_text(placement: Placement, found: Footprint, nest: Nest) -> str:
    whole = 4 * math.prod(found.shape)
    rows = f"a ring of {placement.ring} of {found.extent} rows" if found.slides else "what is read"
    text = f"computed at {nest.loop}, keeps {rows}, {4 * found.kept_elements:,} of {whole:,} B"
    if nest.blocks is None or placement.stage not in nest.blocks.stages:
        return text
    return f"{text}, in blocks of {nest.blocks.size} of {nest.blocks.reader}.{nest.blocks.axis}"


def _nest_data(choice: NestChoice) -> dict[str, object]:
    nest, gain = choice.nest, choice.gain
    return {
        "stages": list(nest.stages),
        "beside": list(nest.beside),
        "loop": nest.loop,
        "block": nest.block,
        "traffic": round(gain.traffic),
        "weights": round(gain.weights),
        "tiles": round(gain.tiles),
        "rows": round(gain.rows),
        "recompute": round(gain.recompute),
        "strips": round(gain.strips),
        "saved_bytes": gain.saved_bytes,
        "working_set": gain.working_set,
        "block_set": gain.block_set,
        "rings": {p.stage: p.ring for p in nest.producers},
        "blocks": None if nest.blocks is None else str(nest.blocks),
        "recompute_factors": {stage: float(f) for stage, f in choice.recompute.items()},
    }


def _first_line(text: str) -> str:
    return text.split("\n", maxsplit=1)[0]
