"""What the candidates of a trial program read and write, and the C table that says so.

Read `Trial` and `TrialData` first. All candidates work in one arena, where a buffer has one place
whoever uses it; contents are in a data file, equal ones once.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ago.ir.nest import Buffer
from ago.ir.packing import pack_array
from ago.runtime.artifact import ALIGNMENT
from ago.tune.measure import Candidate
from ago.tune.source import entry_name

Array = npt.NDArray[Any]

_COMPARED = {"f32": "AGO_TRIAL_F32", "f64": "AGO_TRIAL_F64"}


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate with what it reads and what it must write.

    Attributes:
        candidate: Its program and C function.
        operands: Arrays of the inputs and of the constants that are not packed, by buffer.
        expected: Arrays of the outputs, by buffer.
    """

    candidate: Candidate
    operands: Mapping[str, Array]
    expected: Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class _Argument:
    """One argument of a candidate: offsets in the data, None where there is nothing."""

    buffer: Buffer
    source: int | None
    expected: int | None


class TrialData:
    """The memory of some candidates.

    Args:
        trials: By the number that their C functions carry; all of one workload.

    Attributes:
        data_bytes: Size of the data file.
        arena_bytes: Size of the memory that the candidates work in.
    """

    def __init__(self, trials: Mapping[int, Trial]) -> None:
        self._offsets: dict[bytes, int] = {}
        self._contents: list[bytes] = []
        self.data_bytes = 0
        self._arguments = {number: self._add(trial) for number, trial in trials.items()}
        sizes: dict[str, int] = {}
        for argument in itertools.chain(*self._arguments.values()):
            name, size = argument.buffer.name, _aligned(argument.buffer.nbytes)
            sizes[name] = max(sizes.get(name, 0), size)
        ends = itertools.accumulate(sizes.values(), initial=0)
        self._places = dict(zip(sizes, ends, strict=False))
        self.arena_bytes = sum(sizes.values())

    def write(self, path: Path) -> None:
        """Write the data file."""
        with path.open("wb") as file:
            for content in self._contents:
                file.write(content + bytes(_aligned(len(content)) - len(content)))

    def table_text(self) -> str:
        """The C file that defines `ago_trials`."""
        parts = ['#include "ago_runtime.h"\n#include "ago_trial.h"\n']
        entries = ""
        for number, arguments in self._arguments.items():
            rows = "".join(f"    {{{self._row(argument)}}},\n" for argument in arguments)
            parts.append(f"AGO_HIDDEN void {entry_name(number)}(void *const *a);\n")
            parts.append(f"static const ago_trial_operand operands_{number}[] = {{\n{rows}}};\n")
            entries += f"    {{{entry_name(number)}, operands_{number}, {len(arguments)}u}},\n"
        sizes = f"{len(self._arguments)}u, {self.arena_bytes}u, {self.data_bytes}u"
        return (
            f"{''.join(parts)}static const ago_trial_candidate candidates[] = {{\n{entries}}};\n"
            f"const ago_trial_set ago_trials = {{candidates, {sizes}}};\n"
        )

    def _row(self, argument: _Argument) -> str:
        buffer = argument.buffer
        compare = _COMPARED.get(buffer.dtype, "AGO_TRIAL_EXACT")
        offsets = f"{_offset(argument.source)}, {_offset(argument.expected)}"
        return f"{self._places[buffer.name]}u, {buffer.nbytes}u, {offsets}, {compare}"

    def _add(self, trial: Trial) -> Sequence[_Argument]:
        program, found = trial.candidate.program, []
        for name in trial.candidate.function.parameters:
            buffer = program.buffer(name)
            source = expected = None
            if name in trial.expected:
                expected = self._keep(trial.expected[name])
            elif buffer.scope == "input":  # a schedule may see it as another shape
                source = self._keep(trial.operands[name])
            elif buffer.scope == "constant":
                source = self._keep(pack_array(program, name, trial.operands))
            found.append(_Argument(buffer, source, expected))
        return found

    def _keep(self, array: Array) -> int:
        content = np.ascontiguousarray(array).tobytes()
        key = hashlib.blake2b(content).digest()
        if key not in self._offsets:
            self._offsets[key] = self.data_bytes
            self._contents.append(content)
            self.data_bytes += _aligned(len(content))
        return self._offsets[key]


def _aligned(size: int) -> int:
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def _offset(value: int | None) -> str:
    return "AGO_TRIAL_NONE" if value is None else f"{value}u"
