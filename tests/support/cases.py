"""Small models that are compiled together, so that one run of a C compiler covers dozens of them.

Read `Case` and `failures` first. Cases become independent branches of one graph; each keeps its own
inputs and outputs and is compared with the float64 reference of its own graph.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ago.frontend import GraphBuilder, Value
from ago.ir.evaluate import evaluate
from ago.ir.graph import Graph
from ago.ir.tensor import TensorType, numpy_dtype
from ago.options import Options
from ago.pipeline import compile_graph
from ago.runtime.artifact import Artifact
from ago.runtime.build import build, library_suffix
from ago.target import resolve_target
from tests.support.compiled import call

TOLERANCE = 1e-5
"""Largest error, relative to the largest absolute value of an output."""

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A small graph and its inputs.

    Attributes:
        name: Says what is unusual about it.
        graph: The graph.
        feeds: float32 arrays by input.
    """

    name: str
    graph: Graph
    feeds: Arrays


Body = Callable[[GraphBuilder, np.random.Generator], Value | tuple[Value, ...]]


def make_case(name: str, body: Body, seed: int = 0) -> Case:
    """A case of standard normal inputs.

    Args:
        name: Name of the case.
        body: Adds the nodes to a builder and returns the outputs; the generator is for weights.
        seed: Seed of weights and inputs.
    """
    rng = np.random.default_rng(seed)
    builder = GraphBuilder("case")
    outputs = body(builder, rng)
    graph = builder.build(*(outputs if isinstance(outputs, tuple) else (outputs,)))
    return Case(name, graph, {n: random_array(graph.types[n], rng) for n in graph.inputs})


def random_array(kind: TensorType, rng: np.random.Generator) -> np.ndarray:
    """Standard normal floats; of other types small numbers, a few of them at the type's ends."""
    dtype = numpy_dtype(kind.dtype)
    if dtype.kind == "f":
        return rng.standard_normal(kind.shape, np.float32).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, kind.shape).astype(dtype)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    small = rng.integers(max(low, -9), 10, kind.shape)
    ends = rng.choice(np.array([low, high], dtype), kind.shape)
    return np.where(rng.random(kind.shape) < 0.1, ends, small.astype(dtype)).astype(dtype)


SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -1.5, 2.5)
"""What `special` strews in."""


def special(case: Case, seed: int = 0) -> Case:
    """The case with NaN, infinities, halves and zeros strewn into its floats."""
    rng = np.random.default_rng(seed)
    feeds = {}
    for name, array in case.feeds.items():
        if array.dtype.kind != "f":
            feeds[name] = array
            continue
        values = rng.choice(np.array(SPECIAL, array.dtype), array.shape)
        feeds[name] = np.where(rng.random(array.shape) < 0.1, values, array)
    return replace(case, name=f"{case.name} special", feeds=feeds)


def merge(cases: Sequence[Case]) -> tuple[Graph, dict[str, np.ndarray]]:
    """All cases as one graph, each value's name behind that of its case; and the inputs."""
    graphs = [(case, _prefix(case.name)) for case in cases]
    nodes = [
        replace(
            node,
            name=rename(node.name),
            inputs=tuple(map(rename, node.inputs)),
            outputs=tuple(map(rename, node.outputs)),
        )
        for case, rename in graphs
        for node in case.graph.nodes
    ]
    merged = Graph.make(
        "cases",
        {rename(n): case.graph.types[n] for case, rename in graphs for n in case.graph.inputs},
        nodes,
        [rename(n) for case, rename in graphs for n in case.graph.outputs],
        {rename(n): array for case, rename in graphs for n, array in case.graph.params.items()},
    )
    return merged, {rename(n): a for case, rename in graphs for n, a in case.feeds.items()}


def _prefix(name: str) -> Callable[[str], str]:
    return lambda value: f"{name}/{value}" if value else ""


def compile_cases(cases: Sequence[Case], target: str) -> tuple[Artifact, list[np.ndarray]]:
    """The artifact of all cases together, and its inputs in order."""
    graph, feeds = merge(cases)
    artifact = compile_graph(graph, Options(resolve_target(target))).artifact
    return artifact, [np.ascontiguousarray(feeds[i.name], i.numpy) for i in artifact.inputs]


def run_cases(cases: Sequence[Case], target: str) -> dict[str, np.ndarray]:
    """The outputs of all cases by `case/output`, compiled together and run once."""
    artifact, feeds = compile_cases(cases, target)
    with tempfile.TemporaryDirectory() as directory:
        path = build(artifact, "shared", Path(directory) / f"cases{library_suffix()}")
        results = call(artifact, path, feeds)
    return {info.name: result for info, result in zip(artifact.outputs, results, strict=True)}


def failures(cases: Sequence[Case], target: str) -> list[str]:
    """What is wrong when the cases are compiled for a target; empty if all agree."""
    found = run_cases(cases, target)
    return [
        f"{case.name}, output {name}: {problem}"
        for case in cases
        for name, expected in _expected(case).items()
        if (problem := difference(found[f"{case.name}/{name}"], expected))
    ]


def _expected(case: Case) -> dict[str, np.ndarray]:
    with np.errstate(all="ignore"):
        return evaluate(case.graph, case.feeds)


def difference(found: np.ndarray, expected: np.ndarray, tolerance: float = TOLERANCE) -> str:
    """How two arrays differ, in words; empty if they agree."""
    if found.shape != expected.shape:
        return f"shape {found.shape} for {expected.shape}"
    if expected.dtype.kind != "f":
        same = found.dtype == expected.dtype and np.array_equal(found, expected)
        return "" if same else f"{found.dtype}{found.ravel()[:6]} for {expected.ravel()[:6]}"
    finite = np.isfinite(expected)
    with np.errstate(over="ignore"):
        rounded = np.where(finite, 0, expected).astype(np.float32)
    if not np.array_equal(np.where(finite, 0, found), rounded, equal_nan=True):
        return "NaN or infinities differ"
    if not np.isfinite(found[finite]).all():
        return "not finite where the reference is"
    error = np.abs(found - np.where(finite, expected, 0))[finite].max(initial=0.0)
    scale = np.abs(expected[finite]).max(initial=0.0)
    return f"differs by {error:.3g}, largest value {scale:.3g}" if error > tolerance * scale else ""
