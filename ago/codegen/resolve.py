"""X."""
from dataclasses import replace
from ago.ir.decompose import decompose
from ago.ir.program import Program
def resolve(program: Program) -> Program:
    return program.with_body(decompose(program.body))
