"""ONNX's own tests of its operators, run through the compiler: dozens of models at a time.

Read `BackendCase` and `run_backend` first. The tests in scope are listed in
`tests/onnx_backend/scope.txt`; the package `onnx` brings models, inputs and results. Tests are
compiled together as independent branches of one graph. An input that decides about shapes, such as
the one of a Reshape, is given as a constant where the importer asks for it, as real models do.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import onnx

from ago.api import load_net
from ago.errors import AgoError, UnsupportedError
from ago.frontend import load
from ago.ir.graph import Graph
from ago.ir.lowering import require_lowerings
from ago.options import Options
from ago.pipeline import compile_graph, run_passes
from ago.target import Target
from tests.support.cases import Case, merge

SCOPE = Path(__file__).parents[1] / "onnx_backend" / "scope.txt"


@dataclass(frozen=True)
class BackendCase:
    """One of ONNX's tests.

    Attributes:
        name: ONNX's name of it.
        op: The operator that it tests.
        model: The model.
        feeds: Its inputs by name.
        results: Its outputs in order.
    """

    name: str
    op: str
    model: onnx.ModelProto
    feeds: Mapping[str, np.ndarray]
    results: Sequence[np.ndarray]


@dataclass(frozen=True)
class Outcome:
    """What became of a test.

    Attributes:
        kind: `passes`; `refused` by name and reason; `wrong` numbers; or an error that is `broken`.
        reason: What happened, in words.
    """

    kind: Literal["passes", "refused", "wrong", "broken"]
    reason: str = ""


@dataclass(frozen=True)
class Tolerance:
    """How far an element may be from its value.

    Attributes:
        relative: Part of the element.
        absolute: Part of the largest value of the output.
    """

    relative: float = 1e-3
    absolute: float = 2e-5


@dataclass
class _Run:
    """Tests on their way."""

    options: Options
    tolerance: Tolerance
    outcomes: dict[str, Outcome] = field(default_factory=dict)


@functools.cache
def backend_cases() -> list[BackendCase]:
    """Return the tests in scope, in the order of their names."""
    names = SCOPE.read_text(encoding="utf-8").split()
    found = {test.name: test for test in _collect()}
    return [_case(found[name]) for name in names]


def _collect() -> list[object]:
    """Return all of ONNX's tests of operators; importing their modules makes them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = importlib.import_module("onnx.backend.test.case.node")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    return package._NodeTestCases


def _case(test) -> BackendCase:
    ((inputs, outputs),) = test.data_sets
    names = [info.name for info in test.model.graph.input]
    op = test.model.graph.node[0].op_type
    feeds = dict(zip(names, map(np.asarray, inputs), strict=True))
    return BackendCase(test.name, op, test.model, feeds, [np.asarray(out) for out in outputs])


def import_case(case: BackendCase) -> tuple[Graph, dict[str, np.ndarray]]:
    """Return a test's graph and the inputs that are left.

    Raises:
        AgoError: If it cannot be imported.
    """
    fixed: dict[str, np.ndarray] = {}
    while True:
        try:
            graph = load(case.model, constants=fixed)
        except UnsupportedError as error:
            if not error.open_inputs:
                raise
            fixed.update((name, case.feeds[name]) for name in error.open_inputs)
        else:
            return graph, {name: case.feeds[name] for name in graph.inputs}


def run_backend(
    cases: Sequence[BackendCase],
    target: Target,
    tolerance: Tolerance = Tolerance(),
    batch: int = 66,
) -> dict[str, Outcome]:
    """Compile tests, run them on this machine, and compare with ONNX's results.

    Args:
        cases: The tests.
        target: A target that this machine runs.
        tolerance: Which results are right.
        batch: How many are compiled together.

    Returns:
        What became of each, by name.
    """
    run = _Run(Options(target), tolerance)
    ready: list[tuple[BackendCase, Case]] = []
    for case in cases:
        try:
            graph, feeds = import_case(case)
            require_lowerings(run_passes(graph, target).nodes)
        except AgoError as error:
            run.outcomes[case.name] = _failure(error)
        else:
            ready.append((case, Case(case.name, graph, feeds)))
    for start in range(0, len(ready), batch):
        _run_together(run, ready[start : start + batch])
    return {case.name: run.outcomes[case.name] for case in cases}


def _failure(error: Exception) -> Outcome:
    if not isinstance(error, UnsupportedError):
        return Outcome("broken", f"{type(error).__name__}: {error}")
    return Outcome("refused", "; ".join(map(_reason, error.problems)))


def _reason(problem: str) -> str:
    """A problem without the node's name in front, its attributes and its inputs."""
    reason = problem.partition("): ")[2] or problem
    return reason.partition("; attributes")[0].partition("; inputs")[0]


def _run_together(run: _Run, cases: Sequence[tuple[BackendCase, Case]]) -> None:
    """Run some tests as one model; halve them until those that do not compile are alone."""
    try:
        graph, feeds = merge([case for _, case in cases])
        net = load_net(graph, compile_graph(graph, run.options), run.options)
        with np.errstate(all="ignore"):
            found = net.run(feeds)
    except Exception as error:
        if len(cases) == 1:
            run.outcomes[cases[0][0].name] = _failure(error)
            return
        middle = len(cases) // 2
        _run_together(run, cases[:middle])
        _run_together(run, cases[middle:])
        return
    for case, made in cases:
        outputs = [found[f"{made.name}/{value}"] for value in made.graph.outputs]
        problem = _difference(outputs, case.results, run.tolerance)
        run.outcomes[case.name] = Outcome("wrong", problem) if problem else Outcome("passes")


def _difference(
    found: Sequence[np.ndarray], wanted: Sequence[np.ndarray], tolerance: Tolerance
) -> str:
    """How outputs differ, in words; empty if they agree."""
    if len(found) != len(wanted):
        return f"{len(found)} outputs for {len(wanted)}"
    for number, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return f"output {number}: {ours.dtype}{ours.shape} for {theirs.dtype}{theirs.shape}"
        a, b = ours.astype(np.float64), theirs.astype(np.float64)
        scale = np.abs(b[np.isfinite(b)]).max(initial=0.0)
        bounds = {"rtol": tolerance.relative, "atol": tolerance.absolute * scale}
        if not np.allclose(a, b, **bounds, equal_nan=True):
            return f"output {number}: {a.ravel()[:4]} for {b.ravel()[:4]}"
    return ""
