"""One measured schedule, and the key under which it is found again.

Read `TaskKey` and `Record` first. A key says what was computed, for which instructions, in which
space of schedules; no name of a target, model or compiler is part of it, so that a record is found
by whoever compiles the same workload.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ago.errors import InputError
from ago.ir.program import Program
from ago.ir.workload import workload_key
from ago.schedule.chooser import Decision
from ago.target import Target

SPACE_VERSION = 1
"""Version of the space of schedules: raised when old decisions would mean something else."""

Status = Literal["ok", "build", "crash", "timeout", "wrong", "memory"]
"""How a trial ended: a time, or why there is none."""


@dataclass(frozen=True, slots=True, order=True)
class TaskKey:
    """What records belong together.

    Attributes:
        workload: Structural hash of the naive program: operators, shapes, element types.
        features: Instruction set and lanes that code is generated for, such as `"avx2x8"`, and
            what is excluded from the space: `"avx2x8-apart"` without intensive fusion.
        space: `SPACE_VERSION` when the record was made.
    """

    workload: str
    features: str
    space: int = SPACE_VERSION

    @classmethod
    def of(cls, program: Program, target: Target, *, intensive: bool = True) -> TaskKey:
        """The key of a naive program on a target, with or without intensive fusion."""
        features = f"{target.isa}x{target.lanes}" + ("" if intensive else "-apart")
        return cls(workload_key(program), features)

    def __str__(self) -> str:
        return f"{self.workload} {self.features} v{self.space}"


@dataclass(frozen=True, slots=True)
class Record:
    """One trial.

    Attributes:
        key: What was tuned.
        decisions: The schedule's decisions, by name.
        trace: The frozen schedule as JSON (`Trace.to_json`): it replays when sketches have changed.
        status: `"ok"`, or how it failed.
        seconds: Time of one run; None unless `status` is `"ok"`.
        spread: Half the spread of repeated times over their median, 0.02 for 2 %.
        reason: Why it failed; empty if it did not.
        host: The machine that ran it, for people.
        level: How well it is known beside the default schedule: 0 measured once, among others; 1
            timed again beside it; 2 timed in place, in a network.
    """

    key: TaskKey
    decisions: Mapping[str, Decision]
    trace: str
    status: Status
    seconds: float | None = None
    spread: float = 0.0
    reason: str = ""
    host: str = ""
    level: int = 0

    def __post_init__(self) -> None:
        if (self.status == "ok") != (self.seconds is not None):
            raise InputError(f"a trial that ended {self.status!r} has seconds={self.seconds}")

    def to_json(self) -> str:
        """The record as one line of JSON, the same for equal records."""
        return json.dumps(
            {
                "workload": self.key.workload,
                "features": self.key.features,
                "space": self.key.space,
                "decisions": dict(sorted(self.decisions.items())),
                "trace": json.loads(self.trace),
                "status": self.status,
                "seconds": self.seconds,
                "spread": self.spread,
                "reason": self.reason,
                "host": self.host,
                "level": self.level,
            }
        )

    @classmethod
    def from_json(cls, line: str) -> Record:
        """The record that `to_json` wrote.

        Raises:
            InputError: The line is no record.
        """
        try:
            data: dict[str, Any] = json.loads(line)
            status = data["status"]
            if status not in get_args(Status):
                raise InputError(f"unknown status {status!r}")
            return cls(
                TaskKey(str(data["workload"]), str(data["features"]), int(data["space"])),
                {str(key): plain(value) for key, value in data["decisions"].items()},
                json.dumps(data["trace"]),
                status,
                None if data["seconds"] is None else float(data["seconds"]),
                float(data["spread"]),
                str(data["reason"]),
                str(data["host"]),
                int(data.get("level", 0)),  # lines written before there was one have none
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"not a tuning record: {error!r}") from error


def decisions_text(decisions: Mapping[str, Decision]) -> str:
    """Decisions as JSON, the same for equal ones in any order."""
    return json.dumps(dict(sorted(decisions.items())))


def plain(value: object) -> Decision:
    """A decision from what JSON made of it.

    Raises:
        TypeError: It is none.
    """
    match value:
        case bool():
            raise TypeError(f"{value!r} is no decision")
        case int() | str():
            return value
        case list():
            items = [plain(item) for item in value]
            if all(isinstance(item, int | str) for item in items):
                return tuple(item for item in items if isinstance(item, int | str))
    raise TypeError(f"{value!r} is no decision")
