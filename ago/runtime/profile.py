"""Where a compiled model's time goes: measured a step, estimated an operator inside a step.

Read `Profile` first. Steps are timed inside the model, one after another, so that each finds the
caches as the one before it leaves them.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ago.ir.work import Work
from ago.runtime.anatomy import Anatomy
from ago.runtime.artifact import Artifact
from ago.runtime.condition import Visit
from ago.runtime.library import Session

_LONGEST_LABEL = 60


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """An operator's part of a step's time.

    Attributes:
        node: Its name in the graph.
        op: What it is.
        seconds: Estimated from the operators' arithmetic: they run interleaved.
    """

    node: str
    op: str
    seconds: float


@dataclass(frozen=True, slots=True)
class StepProfile:
    """One step.

    Attributes:
        index: Number of the step.
        label: Its operators.
        seconds: Measured; of the fastest run.
        least_seconds: What the machine's peak and bandwidths allow; on a device, what the
            arithmetic takes at its clock, or None where it does not tell.
        work: Its arithmetic and its bytes.
        operators: Its time by operator, estimated.
    """

    index: int
    label: str
    seconds: float
    least_seconds: float | None
    work: Work
    operators: tuple[OperatorTime, ...]

    @property
    def gflops(self) -> float:
        """GFLOP a second."""
        return self.work.flop / self.seconds / 1e9

    @property
    def nbytes(self) -> int:
        """Bytes read and written, each counted once."""
        return self.work.read_bytes + self.work.written_bytes

    @property
    def roofline(self) -> float | None:
        """The least time over the measured one: 1 is the best there can be; None if not known."""
        return None if self.least_seconds is None else self.least_seconds / self.seconds

    def to_dict(self) -> dict[str, object]:
        """The step as plain data; times in microseconds."""
        return {
            "index": self.index,
            "label": self.label,
            "us": round(1e6 * self.seconds, 3),
            "gflops": round(self.gflops, 3),
            "flop": self.work.flop,
            "read_bytes": self.work.read_bytes,
            "written_bytes": self.work.written_bytes,
            "roofline": None if self.roofline is None else round(self.roofline, 4),
            "operators_estimated": [
                {"node": o.node, "op": o.op, "us": round(1e6 * o.seconds, 3)}
                for o in self.operators
            ],
        }


@dataclass(frozen=True, slots=True)
class Profile:
    """A profiled model.

    Attributes:
        model: Its name.
        target: The CPU it was compiled for.
        rounds: How often it ran.
        steps: In order of execution.
        visit: The device that it ran on; None for this process.
    """

    model: str
    target: str
    rounds: int
    steps: tuple[StepProfile, ...]
    visit: Visit | None = None

    @property
    def seconds(self) -> float:
        """The sum of the steps' times."""
        return sum(step.seconds for step in self.steps)

    @property
    def by_operator(self) -> dict[str, float]:
        """Estimated seconds by kind of operator, the longest first."""
        times: defaultdict[str, float] = defaultdict(float)
        for step in self.steps:
            for operator in step.operators:
                times[operator.op] += operator.seconds
        return dict(sorted(times.items(), key=lambda item: (-item[1], item[0])))

    def to_dict(self) -> dict[str, object]:
        """The profile as plain data; times in microseconds."""
        return {
            "model": self.model,
            "target": self.target,
            "rounds": self.rounds,
            "us": round(1e6 * self.seconds, 3),
            "steps": [step.to_dict() for step in self.steps],
            "operators_estimated": {
                op: round(1e6 * seconds, 3) for op, seconds in self.by_operator.items()
            },
            "device": None if self.visit is None else self.visit.to_dict(),
        }

    def __str__(self) -> str:
        total = self.seconds or 1.0
        lines = [
            f"{self.model} for {self.target}: {1e6 * self.seconds:.1f} us in {len(self.steps)} "
            f"steps, each the fastest of {self.rounds} runs on one thread",
            "step        us     %   GFLOP/s        MB  of roofline  operators",
        ]
        for step in self.steps:
            lines.append(
                f"{step.index:4} {1e6 * step.seconds:9.1f} {100 * step.seconds / total:5.1f} "
                f"{step.gflops:9.1f} {step.nbytes / 1e6:9.3f} {_percent(step.roofline)}  "
                f"{_shortened(step.label)}"
            )
        parts = [f"{op} {100 * s / total:.1f} %" for op, s in self.by_operator.items()]
        lines.append(f"by operator, estimated: {', '.join(parts)}")
        lines += [] if self.visit is None else [str(self.visit)]
        return "\n".join(lines)


def profile_steps(session: Session, artifact: Artifact, anatomy: Anatomy, rounds: int) -> Profile:
    """Time the steps of a model in this process.

    Args:
        session: Points to inputs and outputs.
        artifact: The model.
        anatomy: Its inside.
        rounds: How often all steps run.

    Returns:
        The fastest time of each.
    """
    seconds = _fastest(session, len(anatomy.steps), rounds)
    steps = step_profiles(anatomy, seconds, anatomy.bounds().least_seconds)
    return Profile(artifact.name, artifact.target.name, rounds, steps)


def step_profiles(
    anatomy: Anatomy, seconds: Sequence[float], least: Callable[[Work], float | None]
) -> tuple[StepProfile, ...]:
    """The steps of a model with their measured times.

    Args:
        anatomy: The model's inside.
        seconds: The fastest time of each step.
        least: What the machine needs for some work at best, seconds; None where nobody knows.
    """
    kinds = {node.name: node.op for node in anatomy.compiled.nodes}
    return tuple(
        StepProfile(
            index=index,
            label=step.label,
            seconds=taken,
            least_seconds=least(step.work),
            work=step.work,
            operators=tuple(
                OperatorTime(node, kinds[node], share * taken)
                for node, share in step.work.shares.items()
            ),
        )
        for index, (step, taken) in enumerate(zip(anatomy.steps, seconds, strict=True))
    )


def _fastest(session: Session, count: int, rounds: int) -> Sequence[float]:
    best = [float("inf")] * count
    for step in range(count):
        session.step(step)  # touches all memory once
    for _ in range(rounds):
        for step in range(count):
            begin = time.perf_counter()
            session.step(step)
            best[step] = min(best[step], time.perf_counter() - begin)
    return best


def _percent(share: float | None) -> str:
    return f"{'-':>13}" if share is None else f"{100 * share:11.0f} %"


def _shortened(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"
