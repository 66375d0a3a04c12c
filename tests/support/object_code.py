"""Looks into compiled objects: innermost loops, their multiply-adds, their accesses to the stack.

Read `Loop` and `hot_loops` first. A loop is what a backward branch inside a function spans; it is
innermost if it spans no other, and hot if it multiplies: vectors, or, in a scalar tail, numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import capstone
from capstone import arm64, x86
from elftools.elf.elffile import ELFFile

_FMA = re.compile(r"vfn?m(add|sub)\d+ps|fml[as]")
_SCALAR = re.compile(r"vfn?m(add|sub)\d+ss|v?mulss|fn?m(add|sub)")
_STACK_POINTERS = {x86.X86_REG_RSP, x86.X86_REG_ESP, arm64.ARM64_REG_SP, arm64.ARM64_REG_WSP}
_FRAME_POINTERS = {x86.X86_REG_RBP, arm64.ARM64_REG_X29}
_STACK_MNEMONICS = {"push", "pop", "call", "bl", "blr"}


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        address: In its section, bytes.
        text: As a disassembler prints it.
        is_fma: Whether it multiplies and adds vectors.
        is_scalar: Whether it multiplies single numbers.
        uses_stack: Whether it reads or writes the stack; calls do.
        target: Where it branches to; None if it does not, or not to a constant.
    """

    address: int
    text: str
    is_fma: bool
    is_scalar: bool
    uses_stack: bool
    target: int | None


@dataclass(frozen=True)
class Loop:
    """An innermost loop.

    Attributes:
        function: Symbol of the function that holds it.
        body: Its instructions, the branch last.
    """

    function: str
    body: tuple[Instruction, ...]

    @property
    def fmas(self) -> int:
        return sum(instruction.is_fma for instruction in self.body)

    @property
    def fma_share(self) -> float:
        return self.fmas / len(self.body)

    @property
    def scalar_multiplies(self) -> tuple[str, ...]:
        return tuple(i.text for i in self.body if i.is_scalar)

    @property
    def stack_accesses(self) -> tuple[str, ...]:
        return tuple(i.text for i in self.body if i.uses_stack)

    def __str__(self) -> str:
        lines = "\n".join(f"    {i.address:6x}  {i.text}" for i in self.body)
        return f"{self.function}: {self.fmas} of {len(self.body)} multiply and add\n{lines}"


def hot_loops(objects: Sequence[Path], function: str) -> list[Loop]:
    """The hot loops of a function that one of some ELF objects defines."""
    found = [
        loop
        for path in objects
        for name, instructions in _functions(path)
        if name == function
        for loop in _innermost(name, instructions)
    ]
    return [loop for loop in found if loop.fmas or loop.scalar_multiplies]


def _functions(path: Path) -> Iterator[tuple[str, list[Instruction]]]:
    with path.open("rb") as file:
        elf = ELFFile(file)
        machine = elf.get_machine_arch()
        engine = _engine(machine)
        for symbol in elf.get_section_by_name(".symtab").iter_symbols():
            if symbol["st_info"]["type"] != "STT_FUNC" or not symbol["st_size"]:
                continue
            code = elf.get_section(symbol["st_shndx"]).data()
            start, size = symbol["st_value"], symbol["st_size"]
            decoded = list(engine.disasm(code[start : start + size], start))
            assert decoded[-1].address + decoded[-1].size == start + size, "undecoded bytes"
            yield symbol.name, _instructions(decoded)


def _engine(machine: str) -> capstone.Cs:
    modes = {
        "x64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
        "AArch64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
    }
    engine = capstone.Cs(*modes[machine])
    engine.detail = True
    return engine


def _instructions(decoded: Sequence[capstone.CsInsn]) -> list[Instruction]:
    stack = _STACK_POINTERS | (_FRAME_POINTERS if _has_frame(decoded) else set())
    return [
        Instruction(
            insn.address,
            f"{insn.mnemonic} {insn.op_str}",
            _FMA.fullmatch(insn.mnemonic) is not None,
            _SCALAR.fullmatch(insn.mnemonic) is not None,
            insn.mnemonic in _STACK_MNEMONICS or _addresses(insn, stack),
            _target(insn),
        )
        for insn in decoded
    ]


def _has_frame(decoded: Sequence[capstone.CsInsn]) -> bool:
    """Whether a frame pointer is set up; if not, its register is one like others."""
    return any(
        len(insn.operands) > 1
        and insn.operands[0].reg in _FRAME_POINTERS
        and insn.operands[1].reg in _STACK_POINTERS
        and insn.mnemonic in ("mov", "add")
        for insn in decoded
    )


def _addresses(insn: capstone.CsInsn, registers: set[int]) -> bool:
    memory = capstone.CS_OP_MEM
    return insn.mnemonic != "lea" and any(
        operand.type == memory and operand.mem.base in registers for operand in insn.operands
    )


def _target(insn: capstone.CsInsn) -> int | None:
    if not insn.group(capstone.CS_GRP_JUMP):
        return None
    constants = [o.imm for o in insn.operands if o.type == capstone.CS_OP_IMM]
    return constants[-1] if constants else None


def _innermost(name: str, instructions: Sequence[Instruction]) -> Iterator[Loop]:
    spans = {
        (i.target, i.address)
        for i in instructions
        if i.target is not None and instructions[0].address <= i.target <= i.address
    }
    for start, end in sorted(spans):
        inside = (s for s in spans if s != (start, end) and start <= s[0] and s[1] <= end)
        if not any(inside):
            body = tuple(i for i in instructions if start <= i.address <= end)
            yield Loop(name, body)
