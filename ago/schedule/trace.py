"""Schedules as data: `Schedule` records what is applied, `Trace` is the record.

Read `Trace` first. It holds instructions (a primitive and its arguments) and the decisions that led
to them, all plain data. It replays on the same workload to the same program, is saved as JSON or
as a Python script that a person can run and edit.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Concatenate, ParamSpec

from ago.errors import ScheduleError
from ago.ir.identity import by_identity
from ago.ir.program import Program
from ago.ir.workload import workload_key
from ago.schedule.annotate import unroll, vectorize
from ago.schedule.cache_read import cache_read
from ago.schedule.cache_write import cache_write
from ago.schedule.chooser import Chooser, Decision, DefaultChooser, Domain, Explain
from ago.schedule.collapse import collapse
from ago.schedule.compute_at import compute_at
from ago.schedule.compute_with import compute_with
from ago.schedule.decisions import Choice
from ago.schedule.decompose_reduction import decompose_reduction
from ago.schedule.divide_axis import divide_axis
from ago.schedule.fold_storage import fold_storage
from ago.schedule.fuse_axes import fuse_axes
from ago.schedule.inline import inline
from ago.schedule.pack import pack
from ago.schedule.parallel import parallel
from ago.schedule.peel import partition_loop, peel
from ago.schedule.prefetch import prefetch
from ago.schedule.privatize import privatize
from ago.schedule.refusals import REFUSALS
from ago.schedule.reorder import reorder
from ago.schedule.reverse_compute_at import reverse_compute_at
from ago.schedule.rfactor import rfactor
from ago.schedule.round_axis import round_axis
from ago.schedule.script import write_script
from ago.schedule.set_scope import set_scope
from ago.schedule.slide import slide
from ago.schedule.specialize import specialize
from ago.schedule.split import split
from ago.schedule.stage_mem import stage_mem
from ago.schedule.store_at import store_at
from ago.schedule.transform_layout import transform_layout

TRACE_VERSION = 1

PRIMITIVES: Mapping[str, Callable[..., Program]] = {
    primitive.__name__: primitive
    for primitive in (
        cache_read,
        cache_write,
        collapse,
        compute_at,
        compute_with,
        decompose_reduction,
        divide_axis,
        fold_storage,
        fuse_axes,
        inline,
        pack,
        parallel,
        partition_loop,
        peel,
        prefetch,
        privatize,
        reorder,
        reverse_compute_at,
        rfactor,
        round_axis,
        set_scope,
        slide,
        specialize,
        split,
        stage_mem,
        store_at,
        transform_layout,
        unroll,
        vectorize,
    )
}
"""Every primitive by name: what an instruction may call."""

_ARGUMENT_TYPES: Mapping[str, type] = {"int": int, "Sequence[str]": tuple}
"""What an argument must be, by its annotation; all others are strings."""

Argument = int | str | tuple[int | str, ...]
_P = ParamSpec("_P")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One applied primitive.

    Attributes:
        primitive: A key of `PRIMITIVES`.
        args: Names and values of its arguments, in the order of its signature.
    """

    primitive: str
    args: tuple[tuple[str, Argument], ...]

    @property
    def arguments(self) -> str:
        """The arguments as Python text."""
        return ", ".join(f"{name}={value!r}" for name, value in self.args)

    def __str__(self) -> str:
        return f"{self.primitive}({self.arguments})"


@dataclass(frozen=True, slots=True)
class Trace:
    """A schedule as data.

    Attributes:
        workload: `workload_key` of the naive program it was made for.
        instructions: What was applied, in order.
        decisions: What was chosen, by key, in the order of asking.
        version: Version of this format.
    """

    workload: str
    instructions: tuple[Instruction, ...] = ()
    decisions: tuple[tuple[str, Decision], ...] = ()
    version: int = TRACE_VERSION

    def replay(self, program: Program) -> Program:
        """Apply the instructions to the naive program they were recorded on.

        Args:
            program: A naive program with the trace's workload key.

        Returns:
            The scheduled program, the same each time.

        Raises:
            ScheduleError: `trace-version`, `trace-workload`, `unknown-primitive`,
                `bad-instruction`, or the refusal of an instruction.
        """
        *_, (_, scheduled) = self.steps(program)
        return scheduled

    def steps(self, program: Program) -> Iterator[tuple[Instruction | None, Program]]:
        """Replay one instruction at a time.

        Args:
            program: As for `replay`.

        Yields:
            The naive program with no instruction, then each instruction and the program after it.

        Raises:
            ScheduleError: As `replay`, when the step is reached.
        """
        self._require(program)
        yield None, program
        for instruction in self.instructions:
            primitive = _primitive(instruction.primitive)
            _check_arguments(instruction)
            program = primitive(program, **dict(instruction.args))
            yield instruction, program

    def _require(self, program: Program) -> None:
        if self.version != TRACE_VERSION:
            what = f"the trace has version {self.version}, this is {TRACE_VERSION}"
            raise _refusal("trace-version", what)
        key = workload_key(program)
        if key != self.workload:
            what = f"the trace is for workload {self.workload}, the program is {key}"
            raise _refusal("trace-workload", what)

    def to_json(self) -> str:
        """The trace as one line of JSON."""
        return json.dumps(
            {
                "version": self.version,
                "workload": self.workload,
                "decisions": dict(self.decisions),
                "instructions": [[i.primitive, dict(i.args)] for i in self.instructions],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """The trace that `to_json` wrote.

        Raises:
            ScheduleError: `trace-version` where the text is no trace of this version.
        """
        try:
            data = json.loads(text)
            if data["version"] != TRACE_VERSION:
                raise _refusal("trace-version", f"the text has version {data['version']}")
            instructions = tuple(
                Instruction(name, tuple((k, _plain(v)) for k, v in args.items()))
                for name, args in data["instructions"]
            )
            decisions = tuple((k, _plain(v)) for k, v in data["decisions"].items())
            return cls(data["workload"], instructions, decisions)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise _refusal("trace-version", f"the text is not a trace: {error!r}") from error

    def to_python(self, program: Program | None = None) -> str:
        """A script whose function `schedule(program)` does what the trace does.

        Args:
            program: The naive program. With it the script runs on its own: it makes the program,
                schedules, verifies and prints it.

        Raises:
            ScheduleError: `unknown-primitive`; `trace-version` or `trace-workload` where the trace
                is not for the program.
        """
        if program is not None:
            self._require(program)
        names = sorted({i.primitive for i in self.instructions})
        return write_script(
            self.workload,
            [(_primitive(name).__module__, name) for name in names],
            [f"{key} = {value!r}" for key, value in self.decisions],
            [(i.primitive, i.arguments) for i in self.instructions],
            program,
        )

    def __str__(self) -> str:
        lines = [f"trace of {self.workload}"]
        lines += [f"  {key} = {value}" for key, value in self.decisions]
        lines += [f"  {instruction}" for instruction in self.instructions]
        return "\n".join(lines)


class Schedule:
    """A program being scheduled, recording each step.

    Args:
        program: The naive program to start from.
        chooser: Who answers `decide`.

    Attributes:
        naive: The program before the first step.
        program: The program after the steps so far.
    """

    def __init__(self, program: Program, chooser: Chooser | None = None) -> None:
        self.naive = program
        self.program = program
        self._chooser = chooser or DefaultChooser()
        self._workload = workload_key(program)
        self._instructions: list[Instruction] = []
        self._choices: dict[str, Choice] = {}

    def apply(
        self,
        primitive: Callable[Concatenate[Program, _P], Program],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> None:
        """Apply a primitive and record it.

        Raises:
            ScheduleError: The primitive's refusal, or `unknown-primitive` for a function that is
                none; nothing is recorded then.
        """
        if _primitive(primitive.__name__) is not primitive:
            raise _refusal("unknown-primitive", f"{primitive!r} is not in PRIMITIVES")
        instruction = _instruction(primitive, args, kwargs)
        self.program = _after(self.program, instruction)
        self._instructions.append(instruction)

    def decide(
        self, key: str, candidates: Sequence[Decision], explain: Explain | None = None
    ) -> Decision:
        """Ask the chooser and record its answer.

        Args:
            key: Name of the decision, stable across runs: a stage and what is decided about it,
                such as `"conv/tile"`.
            candidates: Values to choose from, the favourite first.
            explain: What the analytic model thinks of a candidate; called when someone asks.

        Raises:
            ScheduleError: `repeated-decision`, or the chooser's.
        """
        if key in self._choices:
            raise _refusal("repeated-decision", f"decision {key!r} was taken already")
        domain = Domain(tuple(candidates), explain, self.program)
        value = self._chooser.choose(key, domain)
        self._choices[key] = Choice(key, value, domain)
        return value

    def fork(self, chooser: Chooser | None = None) -> Schedule:
        """A schedule that goes on from here by itself.

        Args:
            chooser: Who answers from now on; by default favourites are taken.
        """
        fork = Schedule(self.naive, chooser)
        fork.program = self.program
        fork._instructions = list(self._instructions)
        fork._choices = dict(self._choices)
        return fork

    @property
    def choices(self) -> tuple[Choice, ...]:
        """What was decided so far, with the domains."""
        return tuple(self._choices.values())

    @property
    def trace(self) -> Trace:
        """What was done so far."""
        decisions = tuple((choice.key, choice.value) for choice in self.choices)
        return Trace(self._workload, tuple(self._instructions), decisions)


@by_identity(256)
def _after(program: Program, instruction: Instruction) -> Program:
    """What a program becomes by an instruction; kept, because candidates begin alike."""
    return PRIMITIVES[instruction.primitive](program, **dict(instruction.args))


_signature = functools.cache(inspect.signature)


@functools.cache
def _parameters(primitive: Callable[..., Program]) -> Mapping[str, object]:
    """Names and defaults of what a primitive takes beside the program, in order."""
    _, *parameters = _signature(primitive).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


def _instruction(
    primitive: Callable[..., Program], args: Sequence[object], kwargs: Mapping[str, object]
) -> Instruction:
    """The record of a call that was accepted, with the defaults it took."""
    parameters = _parameters(primitive)
    given = {**parameters, **dict(zip(parameters, args, strict=False)), **kwargs}
    return Instruction(primitive.__name__, tuple([(k, _plain(v)) for k, v in given.items()]))


def _primitive(name: str) -> Callable[..., Program]:
    if name not in PRIMITIVES:
        raise _refusal("unknown-primitive", f"no primitive is called {name!r}")
    return PRIMITIVES[name]


def _check_arguments(instruction: Instruction) -> None:
    """Check that names and types of the arguments are those of the primitive's signature."""
    signature = _signature(_primitive(instruction.primitive))
    given = dict(instruction.args)
    expected = list(signature.parameters.values())[1:]
    complete = all(p.name in given or p.default is not p.empty for p in expected)
    if not complete or not set(given) <= {p.name for p in expected}:
        what = f"{instruction} has not the arguments {', '.join(p.name for p in expected)}"
        raise _refusal("bad-instruction", what)
    for parameter in expected:
        value = given.get(parameter.name, parameter.default)
        kind = _ARGUMENT_TYPES.get(str(parameter.annotation), str)
        if not isinstance(value, kind) or isinstance(value, bool):
            what = f"{instruction}: {parameter.name} is no {parameter.annotation}"
            raise _refusal("bad-instruction", what)


def _plain(value: object) -> Argument:
    """`value` as an argument of an instruction: lists, as JSON has them, become tuples."""
    if isinstance(value, list | tuple):
        return tuple(value)
    if isinstance(value, int | str):
        return value
    raise TypeError(f"{value!r} is not plain data")


def _refusal(code: str, message: str) -> ScheduleError:
    return ScheduleError(code, f"{message}\n  rule: {REFUSALS[code]}")
