"""What every schedule primitive must keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ago.ir.interpreter import Mode, interpret
from ago.ir.printer import print_statements
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.schedule.tree import loop_names
from tests.support.programs import integers

Array = npt.NDArray[np.float64]


def outputs(
    program: Program, arrays: Mapping[str, Array], mode: Mode = "plain"
) -> dict[str, Array]:
    """The program's outputs, flat; `arrays` are viewed in the shapes that the program has."""
    feeds = {b.name: arrays[b.name].reshape(b.shape) for b in program.buffers if b.name in arrays}
    results = interpret(program, feeds, mode)
    return {name: array.reshape(-1) for name, array in results.items()}


def assert_keeps(before: Program, after: Program) -> None:
    """Check that both programs compute the same, exactly, and that `after` obeys the laws.

    `after` also runs in checked mode: without bad accesses, vector lanes all at once.
    """
    verify_unrolled(after)
    arrays = integers(before)
    expected = outputs(before, arrays)
    for mode in ("plain", "checked"):
        found = outputs(after, arrays, mode)
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array, err_msg=f"{name} in {mode} mode")
    names = loop_names(after)
    assert len(set(names)) == len(names)


def verify_unrolled(program: Program) -> None:
    """Verify, as if loops around registers were unrolled already."""
    moved = (replace(b, scope="stack") if b.scope == "register" else b for b in program.buffers)
    verify(replace(program, buffers=tuple(moved)))


def text(program: Program) -> str:
    """The printed body, without the line that ends it."""
    return print_statements(program.body).rstrip("\n")
