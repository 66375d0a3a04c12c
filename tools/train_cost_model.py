#!/usr/bin/env python3
"""Collect tuning records of models on this machine, and train the ranker that ships on them.

    python tools/train_cost_model.py collect MODEL.onnx ... --records FILE [--core 1]
    python tools/train_cost_model.py train MODEL.onnx ... --records FILE [--out FILE]

`collect` measures schedules of the models' tasks, random ones first, then such as a model trained
on the task so far proposes; the default is timed again beside every batch, and times are given
relative to it. `train` reports how well rankers do on tasks that they were not trained on, and
writes the one that was trained on all. Records are lines of JSON as `ago db export` has them.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

import ago
from ago.autoschedule.space import Space
from ago.codegen.emit import emit_function
from ago.cost_model.features import Features
from ago.cost_model.learned import SHIPPED, LearnedModel, train_booster
from ago.cost_model.model import AnalyticModel, Numbers
from ago.cost_model.quality import Quality
from ago.errors import AgoError
from ago.ir.lowering import lower_nodes
from ago.partition import DEFAULT_PARTITIONER, find_partitioner, order_for_memory, strip_views
from ago.pipeline import INTRINSICS, run_passes
from ago.target import Target, detect_host
from ago.tune import Candidate, measure_candidates
from ago.tune.record import Record
from ago.tune.search import EVOLUTION, RANDOM_SEARCH, propose
from ago.tune.task import Task, distinct_tasks

BATCH = 12
"""Schedules that are compiled and timed together, beside the default."""

FEWEST = 20
"""Distinct schedules below which a task teaches nothing."""

STEADY = 0.1
"""Most that the median of repeated times may differ: other work was running beside others."""

FOLDS = 5
ONLINE = 16
"""Measured schedules of a task that the refitted ranker has seen."""

CASES = (
    "random order",
    "analytic",
    f"{ONLINE} trials of the task alone",
    "trained on other tasks",
    f"and {ONLINE} trials of the task",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of a task.

    Attributes:
        task: The task.
        features: (n, columns) of its schedules.
        seconds: (n,) the mean of repeated times.
        again: (m, 2) both times of schedules that were timed twice.
    """

    task: Task
    features: Features
    seconds: Numbers
    again: Numbers

    @property
    def noise(self) -> Numbers:
        """(m,) how far repeated times are apart; none where nothing was timed twice."""
        return np.abs(self.again[:, 1] / self.again[:, 0] - 1)


def tasks_of(models: Sequence[Path], target: Target) -> list[Task]:
    """The distinct tasks of models."""

    def each() -> Iterator[Task]:
        for path in models:
            graph = run_passes(ago.load(path), target)
            partition = find_partitioner(DEFAULT_PARTITIONER)(graph)
            work = order_for_memory(graph, strip_views(graph, partition))
            for number, part in enumerate(work.subgraphs):
                lowered = lower_nodes(graph, part.nodes, part.outputs, f"step_{number}")
                yield Task.of(lowered.program, target, f"{path.stem} {part}")

    return list(distinct_tasks(each()))


def collect_task(task: Task, schedules: int, seed: int) -> Iterator[Record]:
    """Measure schedules of a task: a third of them random, then what a ranker proposes.

    The fastest are timed again in the end.
    """
    space, rng = Space(task.program, task.target), Random(seed)
    known: list[Record] = []
    base = 0.0
    while len(known) < schedules:
        learned = len(known) >= schedules / 3
        score = _score(space, known, seed) if learned else None
        evolution = EVOLUTION if learned else RANDOM_SEARCH
        wanted = propose(space, known, BATCH, rng, score=score, evolution=evolution)
        if not wanted:
            break
        found, base = _measure(task, space, wanted, base)
        known += found
        yield from found
    fastest = sorted(known, key=lambda record: record.seconds or 0.0)[:BATCH]
    yield from _measure(task, space, [record.decisions for record in fastest], base)[0]


def _score(
    space: Space, known: Sequence[Record], seed: int
) -> Callable[[Sequence[dict[str, object]]], list[float]]:
    model = LearnedModel(seed)
    features = space.features([record.decisions for record in known])
    seconds = np.array([record.seconds for record in known])
    model.fit(features, seconds, np.zeros(len(known), int))
    return lambda candidates: list(model.predict(space.features(candidates)))


def _measure(
    task: Task, space: Space, wanted: Sequence[dict[str, object]], base: float
) -> tuple[list[Record], float]:
    """Time candidates, as if the default took `base` seconds in this batch too."""
    target = task.target
    table = INTRINSICS[target.isa]
    schedules = [space.build(decisions) for decisions in [space.default(), *wanted]]
    programs = [schedule.program for schedule in schedules]
    candidates = [Candidate(p, emit_function(p, target, table)) for p in programs]
    times = measure_candidates(candidates, target, table)
    base = base or times[0]
    records = [
        Record(
            task.key,
            dict(schedule.trace.decisions),
            schedule.trace.to_json(),
            "ok",
            seconds * base / times[0],
        )
        for schedule, seconds in zip(schedules[1:], times[1:], strict=True)
    ]
    return records, base


def collect(tasks: Sequence[Task], path: Path, schedules: int, seed: int) -> None:
    """Append records of tasks to a file; tasks that it has are left out."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    done = {Record.from_json(line).key for line in lines}
    for number, task in enumerate(tasks):
        if task.key in done:
            continue
        try:
            records = list(collect_task(task, schedules, seed))
        except AgoError as error:
            print(f"{task.label}: {error}", flush=True)
            continue
        with path.open("a", encoding="utf-8") as file:
            file.writelines(record.to_json() + "\n" for record in records)
        times = [record.seconds or 0.0 for record in records]
        gain = times[0] / min(times)
        label = f"{number + 1}/{len(tasks)} {task.label[:60]}"
        print(f"{label}: {len(times)} timed, default {1e6 * times[0]:.0f} us, best {gain:.2f} x")


def load(tasks: Sequence[Task], path: Path) -> list[Measured]:
    """What a file has of tasks."""
    by_key: dict[object, list[Record]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        record = Record.from_json(line)
        by_key[record.key].append(record)
    found = [_measured(task, by_key[task.key]) for task in tasks if task.key in by_key]
    many = [measured for measured in found if len(measured.seconds) >= FEWEST]
    steady = [m for m in many if not len(m.noise) or np.median(m.noise) < STEADY]
    print(f"{len(found)} tasks, {len(many)} with many schedules, {len(steady)} of them steady")
    return steady


def _measured(task: Task, records: Sequence[Record]) -> Measured:
    times: dict[str, list[float]] = defaultdict(list)
    decisions = {}
    for record in records:
        text = str(sorted(record.decisions.items()))
        times[text].append(record.seconds or 0.0)
        decisions[text] = record.decisions
    features = Space(task.program, task.target).features(list(decisions.values()))
    seconds = np.array([np.mean(found) for found in times.values()])
    again = np.array([found[:2] for found in times.values() if len(found) > 1]).reshape(-1, 2)
    return Measured(task, features, seconds, again)


def evaluate(found: Sequence[Measured], seed: int) -> dict[str, Quality]:
    """The quality of rankers on tasks they were not trained on, the mean over tasks.

    Each ranks the schedules of a task that are not among the trials that some were shown.
    """
    kinds: dict[str, list[Quality]] = defaultdict(list)
    for fold in range(FOLDS):
        base = train_booster(*_rows([m for n, m in enumerate(found) if n % FOLDS != fold]), seed)
        for measured in found[fold::FOLDS]:
            features, seconds = measured.features, measured.seconds
            shown = np.random.default_rng(seed).permutation(len(seconds))[:ONLINE]
            others = np.setdiff1d(np.arange(len(seconds)), shown)
            before, after = LearnedModel(seed, base=base), LearnedModel(seed, base=base)
            alone = LearnedModel(seed, pretrained=False)
            for model in (after, alone):
                model.fit(features[shown], seconds[shown], np.zeros(len(shown), int))
            kinds[CASES[0]].append(Quality.of_chance(seconds[others]))
            models = (AnalyticModel(), alone, before, after)
            for case, model in zip(CASES[1:], models, strict=True):
                scores = model.predict(features[others])
                kinds[case].append(Quality.of(scores, seconds[others]))
    return {case: Quality.mean(kinds[case]) for case in CASES}


def _rows(found: Sequence[Measured]) -> tuple[Features, Numbers, Numbers]:
    groups = np.repeat(np.arange(len(found)), [len(m.seconds) for m in found])
    return (
        np.vstack([m.features for m in found]),
        np.concatenate([m.seconds for m in found]),
        groups,
    )


def report(found: Sequence[Measured], seed: int) -> str:
    """A table in Markdown."""
    rows = sum(len(m.seconds) for m in found)
    noise = np.concatenate([m.noise for m in found])
    lines = [
        f"{len(found)} tasks, {rows} schedules; a time repeats within {np.median(noise):.1%} "
        f"(median), {np.quantile(noise, 0.9):.1%} (9 of 10).",
        "",
        "| ranked by | Spearman | top-1 regret | top-5 regret |",
        "|---|---|---|---|",
    ]
    for case, quality in evaluate(found, seed).items():
        lines.append(
            f"| {case} | {quality.spearman:.2f} | {quality.top1:.1%} | {quality.top5:.1%} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Collect or train."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["collect", "train"])
    parser.add_argument("models", type=Path, nargs="+", help="ONNX files")
    parser.add_argument("--records", type=Path, required=True, help="lines of JSON")
    parser.add_argument("--schedules", type=int, default=60, help="of each task")
    parser.add_argument("--tasks", type=int, default=36, help="most tasks, spread over the models")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--core", type=int, help="pin this process to one core")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="model to write")
    args = parser.parse_args()
    if args.core is not None:
        os.sched_setaffinity(0, {args.core})
    tasks = tasks_of(args.models, detect_host())
    if args.what == "collect":
        step = max(len(tasks) / args.tasks, 1.0)
        some = [tasks[int(n * step)] for n in range(min(args.tasks, len(tasks)))]
        collect(some, args.records, args.schedules, args.seed)
        return
    found = load(tasks, args.records)
    print(report(found, args.seed))
    args.out.write_text(train_booster(*_rows(found), args.seed).model_to_string(), "utf-8")
    print(f"wrote {args.out}: {args.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
