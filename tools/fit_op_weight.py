#!/usr/bin/env python3
"""Fit the operator-weight model of the partition on this machine.

    python tools/fit_op_weight.py [--schedules 48] [--core 1] [--out FILE]

Of each operator in a fixed sample, random schedules are compiled and timed. Of `n` schedules, `m`
come within 10 % of the fastest; the operator's label is `(n + 1) / (m + 1)`, the expected number of
draws until a good schedule is found. A linear model without negative coefficients is fitted to the
labels and written as JSON, with a description of the data.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ago.autoschedule import schedule_program
from ago.backends import INTRINSICS
from ago.codegen.emit import emit_function
from ago.cost_model.linear import FEATURES, NestFeatures, OperatorWeight, nest_features
from ago.errors import CodegenError, ScheduleError
from ago.frontend.builder import GraphBuilder, Value
from ago.ir.graph import Graph
from ago.ir.lowering import lower_nodes
from ago.ir.ops import OPERATORS
from ago.ir.program import Program
from ago.pipeline import run_passes
from ago.schedule.chooser import RandomChooser
from ago.target import Target, detect_host
from ago.tune import Candidate, measure_candidates

DEFAULT_SCHEDULES = 48
GOOD = 1.1
"""A schedule is good if it takes at most this many times the fastest one's time."""

_OUT = Path(__file__).resolve().parents[1] / "ago" / "cost_model" / "operator_weight.json"


@dataclass(frozen=True, slots=True)
class Sample:
    """One operator with its label.

    Attributes:
        name: What it is.
        features: Of its loop nest.
        distinct: How many of its random schedules differ in code.
        label: Expected draws until a good schedule.
    """

    name: str
    features: NestFeatures
    distinct: int
    label: float


def sample_operators() -> Iterator[tuple[str, Graph]]:
    """Operators of mobile networks, each as a graph of one node."""
    pointwise = [
        (112, 32, 16), (112, 16, 96), (56, 24, 144), (56, 144, 24), (28, 32, 192), (28, 192, 32),
        (14, 64, 384), (14, 384, 64), (14, 96, 576), (7, 160, 960), (7, 960, 320), (28, 58, 58),
    ]  # fmt: skip
    for side, cin, cout in pointwise:
        yield f"conv 1x1 {side}x{side} {cin}->{cout}", _conv(side, cin, cout, 1)
    dense = [(224, 3, 32, 3, 2), (56, 16, 64, 3, 1), (28, 32, 128, 3, 1), (14, 64, 64, 3, 1),
             (32, 96, 96, 3, 1), (56, 64, 32, 5, 2)]  # fmt: skip
    for side, cin, cout, kernel, stride in dense:
        name = f"conv {kernel}x{kernel}/{stride} {side}x{side} {cin}->{cout}"
        yield name, _conv(side, cin, cout, kernel, stride)
    depthwise = [(112, 32, 3, 1), (112, 96, 3, 2), (56, 144, 3, 1), (28, 192, 3, 2),
                 (14, 384, 3, 1), (7, 960, 3, 1), (28, 120, 5, 1), (14, 240, 5, 2)]  # fmt: skip
    for side, channels, kernel, stride in depthwise:
        name = f"depthwise {kernel}x{kernel}/{stride} {side}x{side} {channels}"
        yield name, _conv(side, channels, channels, kernel, stride, groups=channels)
    for m, k, n in [(1, 1280, 1000), (64, 144, 288), (256, 64, 128), (128, 128, 512)]:
        yield (
            f"matmul {m}x{k}x{n}",
            _graph((m, k), partial(_apply_with, GraphBuilder.matmul, _ones(k, n))),
        )
    for side, channels in [(7, 1280), (14, 256)]:
        shape = (1, channels, side, side)
        yield (
            f"global pool {side}x{side} {channels}",
            _graph(shape, GraphBuilder.global_average_pool),
        )
    yield "mean over rows 256x144", _graph((256, 144), lambda b, x: b.reduce_mean(x, -1))
    for side, channels in [(56, 24), (28, 192), (7, 960)]:
        shape = (1, channels, side, side)
        yield (
            f"scale {side}x{side} {channels}",
            _graph(shape, partial(_apply_with, GraphBuilder.mul, _ones(channels, 1, 1))),
        )
        yield f"add {side}x{side} {channels}", _graph(shape, lambda b, x: b.add(x, x))


def _apply_with(
    operator: Callable[[GraphBuilder, Value, np.ndarray], Value],
    constant: np.ndarray,
    builder: GraphBuilder,
    x: Value,
) -> Value:
    return operator(builder, x, constant)


def _conv(side: int, cin: int, cout: int, kernel: int, stride: int = 1, groups: int = 1) -> Graph:
    """A convolution whose input is padded already, as the pipeline leaves it."""
    padded = side + 2 * (kernel // 2)
    weight = _ones(cout, cin // groups, kernel, kernel)
    return _graph(
        (1, cin, padded, padded),
        lambda b, x: b.conv(x, weight, _ones(cout), strides=stride, group=groups),
    )


def _graph(shape: Sequence[int], apply: Callable[[GraphBuilder, Value], Value]) -> Graph:
    """A graph of one operator between two copies, so that its tensors get the layouts of a model.

    Inputs and outputs of a graph are row-major; what lies inside is channels-last.
    """
    builder = GraphBuilder("operator")
    inside = builder.relu(builder.input("x", shape), name="before")
    return builder.build(builder.relu(apply(builder, inside), name="after"))


def _ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def naive_program(graph: Graph, target: Target) -> tuple[Program, NestFeatures]:
    """The lowered operator of a graph made by `_graph`, and its features."""
    graph = run_passes(graph, target)
    node = graph.nodes[1]
    program = lower_nodes(graph, [node], node.outputs, "operator").program
    return program, nest_features(program, OPERATORS[node.op].kind)


def random_candidates(program: Program, target: Target, count: int) -> list[Candidate]:
    """`count` random schedules of a program; those that cannot be generated are drawn again."""
    candidates: list[Candidate] = []
    for seed in range(4 * count):
        if len(candidates) == count:
            break
        try:
            scheduled = schedule_program(program, target, RandomChooser(seed)).program
            function = emit_function(scheduled, target, INTRINSICS[target.isa])
        except (ScheduleError, CodegenError):
            continue
        candidates.append(Candidate(scheduled, function))
    return candidates


def measure_sample(target: Target, schedules: int) -> list[Sample]:
    """Measure every operator of the sample."""
    samples = []
    for name, graph in sample_operators():
        program, features = naive_program(graph, target)
        candidates = random_candidates(program, target, schedules)
        times = measure_candidates(candidates, target, INTRINSICS[target.isa])
        good = sum(t <= GOOD * min(times) for t in times)
        label = (len(times) + 1) / (good + 1)
        distinct = len({c.function.key for c in candidates})
        samples.append(Sample(name, features, distinct, label))
        print(
            f"{name:34s} {len(times):3d} schedules, {distinct:3d} distinct, {good:3d} good, "
            f"{1e6 * min(times):8.1f} to {1e6 * max(times):8.1f} us, label {label:5.2f}",
            flush=True,
        )
    return samples


def fit(samples: Sequence[Sample], description: dict[str, object]) -> OperatorWeight:
    """Fit a linear model without negative coefficients to the labels.

    Args:
        samples: The measured operators.
        description: Of machine and method; what the fit gave is added.
    """
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import LeaveOneOut, cross_val_predict

    x = np.array([s.features.vector() for s in samples])
    y = np.array([s.label for s in samples])
    model = LinearRegression(positive=True, fit_intercept=False).fit(x, y)
    held_out = cross_val_predict(
        LinearRegression(positive=True, fit_intercept=False), x, y, cv=LeaveOneOut()
    )
    data = {
        **description,
        "r2": round(float(model.score(x, y)), 3),
        "mean_absolute_error_left_out": round(float(np.abs(held_out - y).mean()), 3),
        "samples": [[s.name, s.distinct, round(s.label, 3)] for s in samples],
    }
    return OperatorWeight(tuple(round(float(c), 6) for c in model.coef_), data)


def _description(target: Target, schedules: int) -> dict[str, object]:
    return {
        "label": f"(n + 1) / (m + 1); m of n = {schedules} schedules within 10 % of the best",
        "samples_are": "[operator, distinct schedules, label]",
        "machine": f"{platform.machine()} server, {target.isa}, one core, other work beside it",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "features": list(FEATURES),
    }


def main() -> None:
    """Measure, fit, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--schedules", type=int, default=DEFAULT_SCHEDULES, help="random schedules of each operator"
    )
    parser.add_argument("--core", type=int, help="pin this process to one core")
    parser.add_argument("--out", type=Path, default=_OUT, help="JSON file to write")
    args = parser.parse_args()
    if args.core is not None:
        os.sched_setaffinity(0, {args.core})
    target = detect_host()
    model = fit(measure_sample(target, args.schedules), _description(target, args.schedules))
    args.out.write_text(model.to_json(), encoding="utf-8")
    print(f"wrote {args.out}: r2 {model.data['r2']}", file=sys.stderr)


if __name__ == "__main__":
    main()
