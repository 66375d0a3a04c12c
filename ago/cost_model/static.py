"""Cycles of compiled code without the CPU: llvm-mca's throughput of each basic block, times counts.

Read `StaticModel` and `basic_blocks` first. Whoever ran the code in an emulator says how often each
instruction was executed. Data is taken to be in L1: what caches cost is for another model to add.
The figures rank schedules; they are estimates of time, and are called so wherever they appear.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from ago.errors import ToolchainError
from ago.target import Target

MODELS: Mapping[str, str] = MappingProxyType(
    {"cortex-a76": "neoverse-n1", "cortex-x1": "neoverse-v1", "x86-64-v3": "znver3"}
)
"""Scheduling models by a target's `cpu`, where LLVM's own for it is another core's.

LLVM 19 schedules Cortex-A76 as a Cortex-A57, whose vector pipes are half as wide; Neoverse N1 is
the same core for servers, and Neoverse V1 that of Cortex-X1. A psABI level is no core.
"""

_OLDEST = 16
"""First version of LLVM with a model of Neoverse N1."""

_SUFFIXES = ("", *(f"-{version}" for version in range(_OLDEST, 30)))
_ITERATIONS = 40
_COVERED = 0.995
"""Share of the executed instructions whose blocks are looked at; others are taken to be alike."""

_STACK_CYCLES = 3.0
"""Cycles of an access to the stack: one waits for the store before it, which llvm-mca does not see.
So code that keeps values on the stack in its inner loop is never among the best."""

_TARGET = "ago_target"
_SECONDS = 120.0

_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\S.*)$")
_PLACE = re.compile(r"\b(?:0x)?[0-9a-f]+ <[^>]*>")
_COMMENT = re.compile(r"\s*(?://|# ).*$")
_LEAVES = re.compile(r"^(?:b|b\.\w+|cbn?z|tbn?z|bl|br|blr|ret|j\w+|call\w*|retq?)(?:\s|$)")
_STACK = re.compile(r"\[sp\b|%rsp\b")


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions that are executed one after the other.

    Attributes:
        text: Assembly, one instruction each; the places that branches name are taken out.
        executions: How often it was executed.
    """

    text: tuple[str, ...]
    executions: int

    @property
    def instructions(self) -> int:
        """How many of its instructions were executed."""
        return len(self.text) * self.executions

    @property
    def stack_accesses(self) -> int:
        """Its instructions that load from the stack or store to it."""
        return sum(_STACK.search(line) is not None for line in self.text)


@dataclass(frozen=True, slots=True)
class StaticCost:
    """What executed code costs with its data in L1.

    Attributes:
        cycles: Estimated.
        instructions: Executed, exactly.
        stack_accesses: Executed accesses to the stack.
    """

    cycles: float
    instructions: int
    stack_accesses: int


class StaticModel:
    """LLVM's model of a core.

    Args:
        target: The CPU.

    Raises:
        ToolchainError: llvm-mca or llvm-objdump is not installed, or knows no such core; names
            what is missing and how to get it.
    """

    def __init__(self, target: Target) -> None:
        self._objdump, self._mca = (_find(name) for name in ("llvm-objdump", "llvm-mca"))
        self._core = MODELS.get(target.cpu, target.cpu)
        self._triple = {"aarch64": "aarch64", "x86_64": "x86_64"}.get(target.arch, "")
        if not self._triple or not self._core:
            raise ToolchainError(f"no scheduling model is known for target {target.name!r}")

    def disassemble(self, library: Path) -> dict[int, str]:
        """The instructions of a library's code, by address."""
        listing = _run([self._objdump, "-d", "--no-show-raw-insn", str(library)])
        found = map(_INSTRUCTION.match, listing.splitlines())
        return {int(m[1], 16): _COMMENT.sub("", m[2]).strip() for m in found if m}

    def cost(self, blocks: Sequence[Block]) -> StaticCost:
        """What executed blocks cost.

        Args:
            blocks: With their counts; those that hardly count are estimated by the others.

        Raises:
            ToolchainError: llvm-mca fails.
        """
        total = sum(block.instructions for block in blocks)
        ranked = sorted(blocks, key=lambda block: -block.instructions)
        kept, covered = [], 0
        for block in ranked:
            if covered >= _COVERED * total:
                break
            kept.append(block)
            covered += block.instructions
        each = self._block_cycles(kept)
        cycles = sum(b.executions * c for b, c in zip(kept, each, strict=True))
        accesses = sum(b.executions * b.stack_accesses for b in blocks)
        if covered:
            cycles *= total / covered
        return StaticCost(cycles + _STACK_CYCLES * accesses, total, accesses)

    def _block_cycles(self, blocks: Sequence[Block]) -> list[float]:
        """Cycles of one execution of each block, as when it is executed again and again."""
        if not blocks:
            return []
        text = "".join(
            f"# LLVM-MCA-BEGIN b{number}\n{chr(10).join(block.text)}\n# LLVM-MCA-END\n"
            for number, block in enumerate(blocks)
        )
        command = [self._mca, f"-mtriple={self._triple}", f"-mcpu={self._core}", "-json"]
        quiet = ["-instruction-info=false", "-resource-pressure=false"]
        answer = _run([*command, *quiet, f"-iterations={_ITERATIONS}"], text)
        regions = {region["Name"]: region for region in json.loads(answer)["CodeRegions"]}
        summaries = [regions[f"b{number}"]["SummaryView"] for number in range(len(blocks))]
        return [float(s["TotalCycles"]) / float(s["Iterations"]) for s in summaries]


def basic_blocks(
    code: Mapping[int, str], start: int, executions: npt.NDArray[np.int64], width: int = 4
) -> list[Block]:
    """The blocks of code that were executed.

    Args:
        code: Instructions by address.
        start: Address of the first count.
        executions: How often each instruction was executed, one count for each `width` bytes.
        width: Bytes of an instruction; 1 where their sizes differ.

    Returns:
        In order of address. Instructions of a block follow each other, and were executed equally
        often; only the last may branch.
    """
    return [block for block in _split(code, start, executions, width) if block.executions]


def _split(
    code: Mapping[int, str], start: int, executions: npt.NDArray[np.int64], width: int
) -> Iterator[Block]:
    text: list[str] = []
    count = expected = -1
    for address, line in sorted(code.items()):
        place = (address - start) // width
        now = int(executions[place]) if 0 <= place < len(executions) else 0
        apart = width > 1 and address != expected
        if text and (now != count or apart):
            yield Block(tuple(text), count)
            text = []
        text.append(_PLACE.sub(_TARGET, line))
        count, expected = now, address + width
        if _LEAVES.match(line):
            yield Block(tuple(text), count)
            text = []
    if text:
        yield Block(tuple(text), count)


def _find(name: str) -> str:
    """A tool of LLVM: the newest there is."""
    paths = filter(None, (shutil.which(name + suffix) for suffix in _SUFFIXES))
    found = max(((_version(path), path) for path in paths), default=(0, ""))
    if found[0] < _OLDEST:
        has = f"; found is only {found[1]}, LLVM {found[0]}" if found[1] else ""
        raise ToolchainError(
            f"estimating cycles needs {name} of LLVM {_OLDEST} or newer, which no pip package "
            f"brings: install LLVM (apt install llvm-19, brew install llvm) and put its tools on "
            f"PATH{has}"
        )
    return found[1]


@functools.cache
def _version(path: str) -> int:
    """Major version of a tool; 0 where it does not say."""
    match = re.search(r"LLVM version (\d+)", _run([path, "--version"]))
    return int(match[1]) if match else 0


def _run(command: Sequence[str], text: str = "") -> str:
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"cannot run {command[0]}: {error}") from error
    if done.returncode != 0:
        raise ToolchainError(f"{command[0]} failed: {done.stderr.strip()[:500]}")
    return done.stdout
