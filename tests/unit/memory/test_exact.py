"""The workspace plan beside an exact solver's, on small cases."""

from __future__ import annotations

import random

import pytest

from ago.memory import ALIGNMENT, Tensor, aligned, greedy_by_size, plan_workspace

cp_model = pytest.importorskip("ortools.sat.python.cp_model")


def cases(count: int) -> list[list[Tensor]]:
    """Lists of tensors of like sizes, in which many are live at once."""
    source = random.Random(0)

    def tensor(number: int, moments: int) -> Tensor:
        first = source.randint(0, moments)
        size = ALIGNMENT * source.randint(1, 9)
        return Tensor(f"t{number}", size, first, first + source.randint(1, 4))

    return [
        [tensor(number, source.choice((8, 14, 20))) for number in range(source.randint(8, 18))]
        for _ in range(count)
    ]


def least_bytes(tensors: list[Tensor]) -> int:
    """Size of the smallest plan: rectangles of time and memory that must not overlap."""
    model = cp_model.CpModel()
    units = [aligned(tensor.nbytes) // ALIGNMENT for tensor in tensors]
    height = model.new_int_var(0, sum(units), "height")
    times, places = [], []
    for tensor, size in zip(tensors, units, strict=True):
        offset = model.new_int_var(0, sum(units) - size, tensor.name)
        model.add(offset + size <= height)
        lifetime = tensor.last - tensor.first + 1
        times.append(model.new_fixed_size_interval_var(tensor.first, lifetime, ""))
        places.append(model.new_fixed_size_interval_var(offset, size, ""))
    model.add_no_overlap_2d(times, places)
    model.minimize(height)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return ALIGNMENT * round(solver.objective_value)


def test_plans_are_as_small_as_the_solver_s():
    found = cases(40)
    plans = [plan_workspace(tensors).nbytes for tensors in found]
    assert plans == [least_bytes(tensors) for tensors in found]
    assert any(  # the cases are such that the simple way is worse
        plan < greedy_by_size(tensors) for plan, tensors in zip(plans, found, strict=True)
    )
