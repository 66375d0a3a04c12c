"""`set_scope`: the buffer moves, its shape stays."""

from __future__ import annotations

import pytest

from ago.ir.examples import chain, matmul
from ago.ir.nest import Scope
from ago.schedule.compute_at import compute_at
from ago.schedule.parallel import parallel
from ago.schedule.set_scope import set_scope
from tests.support.schedules import assert_keeps


@pytest.mark.parametrize("scope", ["stack", "register", "workspace"])
def test_every_scope(scope: Scope) -> None:
    program = chain(4, 6)
    after = set_scope(program, "S", scope)
    assert after.buffer("S").scope == scope
    assert after.buffer("S").shape == (4, 6)
    assert after.body is program.body
    assert_keeps(program, after)


def test_a_buffer_of_its_own_for_each_iteration() -> None:
    program = matmul(4, 6, 5, relu=True)
    after = set_scope(parallel(compute_at(program, "C", "R.i"), "R.i"), "C", "stack")
    assert_keeps(program, after)
