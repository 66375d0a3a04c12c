"""Fusion plans: which stages of a program share a loop nest, and where each is computed and stored.

Read `FusionPlan` first. A plan is plain data about a program in which `find_pieces` has named the
stages; whether it is legal is for `legality` to say, what it is worth for `gain`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Placement:
    """A producer in a nest: computed at the shared loop, just what one iteration reads.

    Attributes:
        stage: Name of the stage that writes its result.
        ring: Rows of its result, along the dimension that moves with the shared loop, that are kept
            from one iteration to the next, so that each row is computed once. 0 keeps nothing: what
            an iteration reads is computed anew.
    """

    stage: str
    ring: int

    def __str__(self) -> str:
        return f"{self.stage}:{self.ring}" if self.ring else self.stage


@dataclass(frozen=True, slots=True)
class Blocks:
    """Producers that are computed part by part, inside the loop over blocks of their reader's axis.

    What is computed in a block is read in that block alone; each block's part of a ring is
    contiguous.

    Attributes:
        stages: Producers of a nest, in order of execution.
        reader: A later stage of the nest that reads them.
        axis: Axis of the reader's output, inside the shared loop.
        size: Positions of that axis in a block; divides its extent, and is less.
    """

    stages: tuple[str, ...]
    reader: str
    axis: str
    size: int

    @property
    def loop(self) -> str:
        """The loop over blocks, once the reader's axis is divided."""
        return f"{self.reader}.{self.axis}_o"

    def __str__(self) -> str:
        return f"{' + '.join(self.stages)} in {self.reader}.{self.axis}/{self.size}"


@dataclass(frozen=True, slots=True)
class Nest:
    """Pieces that share one loop nest.

    Attributes:
        producers: In order of execution; at least one.
        output: Name of the stage that writes the nest's result.
        axis: Axis of `output` whose loop is shared.
        block: Positions of that axis in one iteration; divides its extent.
        blocks: Producers that each iteration computes part by part; None where all of them are
            computed whole.
        beside: Names of stages that write further results, which nothing in the nest reads. The
            shared loop divides their axis of the same name alike.
    """

    producers: tuple[Placement, ...]
    output: str
    axis: str
    block: int = 1
    blocks: Blocks | None = None
    beside: tuple[str, ...] = ()

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages that write the pieces' results, in order of execution."""
        return (*(p.stage for p in self.producers), *self.beside, self.output)

    @property
    def loop(self) -> str:
        """The naive loop over the shared axis."""
        return f"{self.output}.{self.axis}"

    def __str__(self) -> str:
        block = f"/{self.block}" if self.block > 1 else ""
        inside = "" if self.blocks is None else f", {self.blocks}"
        beside = f" beside {', '.join(self.beside)}" if self.beside else ""
        stages = " + ".join(map(str, self.producers))
        return f"{stages} at {self.loop}{block}{beside}{inside}"


@dataclass(frozen=True, slots=True)
class FusionPlan:
    """What of a program is computed in shared nests; every other piece has a nest of its own.

    Attributes:
        nests: Disjoint, in order of execution; none where all pieces are apart.
    """

    nests: tuple[Nest, ...] = ()

    def __str__(self) -> str:
        return "; ".join(map(str, self.nests)) or "apart"
