"""What is inside a compiled model, for those who verify or time it step by step.

Read `Anatomy` first. Who compiles models fills it in; who uses it knows neither compiler nor graph
passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ago.ir.graph import Graph
from ago.ir.work import Work
from ago.runtime.artifact import Artifact
from ago.runtime.memory import MemoryFigures

Array = npt.NDArray[Any]


class Bounds(Protocol):
    """What one core of a machine could do at best."""

    def least_seconds(self, work: Work) -> float:
        """The least time in which it could do some work."""


class StepView(Protocol):
    """What verification and profiles need to know of one step of a compiled model."""

    @property
    def label(self) -> str:
        """A readable name."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of its nodes."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Values it reads."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """Values it writes."""

    @property
    def work(self) -> Work:
        """What it computes and touches."""


class Runnable(Protocol):
    """A compiled model that runs whole or a step at a time; `Net` is one."""

    @property
    def artifact(self) -> Artifact:
        """What was compiled."""

    @property
    def anatomy(self) -> Anatomy:
        """Its inside."""

    def run(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        """Run the model once: inputs and outputs by the model's own names."""

    def step(
        self,
        index: int,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        workspace: npt.NDArray[np.uint8],
    ) -> None:
        """Run one step on a workspace of the caller's."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value is during a run.

    Attributes:
        kind: `input`, `output` or `workspace`.
        position: Number of the input or output, or byte offset into the workspace.
    """

    kind: str
    position: int


@dataclass(frozen=True, slots=True)
class Anatomy:
    """The inside of a compiled model, as verification and profiles see it.

    Attributes:
        original: The graph as it was given.
        compiled: The graph after all passes, with layouts.
        steps: One for each call of the compiled code.
        places: Where each value is that a step reads or writes.
        isolate: Compiles the operators of a step one by one, as a model of their own.
        partition: Makes a printable summary of the subgraphs.
        plans: Makes a printable summary of what shares a loop nest.
        bounds: Measures what this machine could do at best.
        memory: Tells what the model needs of memory, and what other ways to run it would need.
    """

    original: Graph
    compiled: Graph
    steps: tuple[StepView, ...]
    places: Mapping[str, Place]
    isolate: Callable[[int], Runnable]
    partition: Callable[[], object]
    plans: Callable[[], object]
    bounds: Callable[[], Bounds]
    memory: Callable[[], MemoryFigures]
