"""A subgraph's program: its buffers, its stages, and the loop nest that computes them.

Stages are kept beside the body, so that `compute_at` can regenerate a producer's nest at another
place. A program never changes: primitives return new programs, which share what they did not touch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ago.errors import IRError
from ago.ir.extern import Extern
from ago.ir.nest import Buffer, Stage, Stmt
from ago.ir.printer import print_program


@dataclass(frozen=True, slots=True)
class Program:
    """The loop nest of one subgraph.

    Attributes:
        name: C-friendly name of the subgraph.
        buffers: All arrays, parameters first.
        stages: What it computes, producers before consumers.
        body: Statements in execution order.
        extern: The C function that computes all of it; then there are no stages and no body.
    """

    name: str
    buffers: tuple[Buffer, ...]
    stages: tuple[Stage, ...]
    body: tuple[Stmt, ...]
    extern: Extern | None = None

    @classmethod
    def naive(cls, name: str, buffers: tuple[Buffer, ...], stages: tuple[Stage, ...]) -> Program:
        """The unscheduled program: one naive nest a stage, in order."""
        return cls(name, buffers, stages, tuple(stage.nest() for stage in stages))

    def buffer(self, name: str) -> Buffer:
        """The buffer called `name`.

        Raises:
            IRError: `unknown-buffer` if there is none.
        """
        for buffer in self.buffers:
            if buffer.name == name:
                return buffer
        raise IRError("unknown-buffer", f"program {self.name} has no buffer {name!r}")

    def stage(self, name: str) -> Stage:
        """The stage called `name`.

        Raises:
            IRError: `unknown-stage` if there is none.
        """
        for stage in self.stages:
            if stage.name == name:
                return stage
        known = ", ".join(s.name for s in self.stages)
        raise IRError("unknown-stage", f"program {self.name} has no stage {name!r}; it has {known}")

    def writer(self, buffer: str) -> Stage | None:
        """The stage that writes `buffer`, or None for an input or constant."""
        for stage in self.stages:
            if stage.buffer == buffer:
                return stage
        return None

    def with_body(self, body: tuple[Stmt, ...]) -> Program:
        """This program with another body."""
        return Program(self.name, self.buffers, self.stages, body, self.extern)

    def with_buffer(self, buffer: Buffer) -> Program:
        """This program with `buffer` replacing the one of its name, or added at the end."""
        if any(b.name == buffer.name for b in self.buffers):
            buffers = tuple(buffer if b.name == buffer.name else b for b in self.buffers)
        else:
            buffers = (*self.buffers, buffer)
        return replace(self, buffers=buffers)

    def with_stage(self, stage: Stage) -> Program:
        """This program with `stage` replacing the one of its name."""
        return replace(
            self, stages=tuple(stage if s.name == stage.name else s for s in self.stages)
        )

    def relabelled(self, other: Program) -> Program:
        """This program under the name and with the stages' origins of an equal workload."""
        origins = {stage.name: stage.origin for stage in other.stages}
        stages = tuple(replace(s, origin=origins.get(s.name, s.origin)) for s in self.stages)
        return replace(self, name=other.name, stages=stages, extern=other.extern)

    def __str__(self) -> str:
        return print_program(self)
