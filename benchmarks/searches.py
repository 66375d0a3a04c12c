"""Searches for schedules that can be stopped at any moment, and go on where they were.

Read `Journal` and `search` first. A journal is a directory: the tuning databases of its searches,
which lose nothing, and a file of lines with what is finished. Whoever asks for something that is
finished gets it from there.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ago.api import load_net
from ago.cost_model.learned import best_model
from ago.frontend import load
from ago.ir.graph import Graph
from ago.options import Options
from ago.partition import DEFAULT_PARTITIONER, find_partitioner
from ago.pipeline import Compilation, compile_graph
from ago.runtime.compare import fastest_steps
from ago.target import Target, resolve_target
from ago.tune.progress import Budget
from ago.tune.record import Record, TaskKey
from ago.tune.search import EVOLUTION, RANDOM_SEARCH, Evolution
from ago.tune.session import Settings
from ago.tuning import Schedules, Tuning, known_schedules, tune_graph

_ROUNDS = 30


class OutOfTimeError(Exception):
    """The time of this run is used up; the same command goes on."""


class Journal:
    """What is finished, and how much time is left.

    Args:
        directory: Made where it is not there.
        seconds: Wall time of this run.

    Attributes:
        directory: Of the journal and the databases.
    """

    def __init__(self, directory: Path, seconds: float) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._end = time.monotonic() + seconds
        self._file = directory / "journal.jsonl"
        lines = self._file.read_text(encoding="utf-8").splitlines() if self._file.exists() else []
        self._entries: dict[str, dict[str, Any]] = dict(
            json.loads(line) for line in lines if line[-1:] == "]"
        )

    @property
    def remaining(self) -> float:
        """Seconds that are left.

        Raises:
            OutOfTimeError: There are none.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise OutOfTimeError
        return left

    def find(self, key: str) -> Mapping[str, Any]:
        """What was written under a key last; nothing where nothing was."""
        return self._entries.get(key, {})

    def write(self, key: str, value: Mapping[str, object]) -> None:
        """Write down what is finished, as JSON."""
        self._entries[key] = dict(value)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, value]) + "\n")


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to search.

    Attributes:
        name: What it is called in tables.
        reformer: Whether parts with one complex operator are tuned first.
        intensive: Whether one nest may hold several complex operators.
        partitioner: Cuts the network.
        evolution: How candidates are bred.
        model: Whether a cost model ranks them.
    """

    name: str
    reformer: bool = True
    intensive: bool = True
    partitioner: str = DEFAULT_PARTITIONER
    evolution: Evolution = EVOLUTION
    model: bool = True

    def options(self, target: Target) -> Options:
        """How its networks are compiled."""
        return Options(target, intensive_fusion=self.intensive)

    def compile(self, graph: Graph, target: Target, known: Schedules | None = None) -> Compilation:
        """A network with schedules that are known, or with its defaults."""
        partitioner = find_partitioner(self.partitioner)
        return compile_graph(graph, self.options(target), partitioner, known=(known or {}).get)


FULL = Variant("full")

VARIANTS = (
    FULL,
    Variant("no_reformer", reformer=False),
    Variant("no_intensive", intensive=False),
    Variant("relay", partitioner="relay"),
    Variant("without cost model", model=False),
    Variant("random search", reformer=False, evolution=RANDOM_SEARCH, model=False),
)


@dataclass(frozen=True, slots=True)
class Search:
    """One search of one network.

    Attributes:
        path: An ONNX file.
        variant: How.
        trials: Candidates, those of shorter searches with the same seed among them.
        seed: Of every random choice.
        target: The CPU that schedules are for, by name.
        runner: Who measures, by name; by default this machine.
    """

    path: str
    variant: Variant
    trials: int
    seed: int = 0
    target: str = "host"
    runner: str = ""

    @property
    def name(self) -> str:
        """Of its database: searches that differ in their trials alone share one."""
        parts = (Path(self.path).stem, self.variant.name, self.target, str(self.seed))
        return "-".join(part.replace(" ", "_") for part in parts)


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search found.

    Attributes:
        default: Seconds of the network's tasks before, each alone.
        best: Seconds of them after.
        seconds: That the search took, with the shorter ones before it.
        failed: How many trials failed, by status.
        known: The schedules that are used from now on, as lines of JSON.
    """

    default: float
    best: float
    seconds: float
    failed: Mapping[str, int]
    known: Sequence[str]

    @property
    def schedules(self) -> Schedules:
        """The schedules by task."""
        found = map(Record.from_json, self.known)
        return {record.key: record for record in found}


def search(journal: Journal, wanted: Search) -> Searched:
    """Search, or go on, or find what is finished.

    Args:
        journal: Where.
        wanted: What.

    Raises:
        OutOfTimeError: The search is not finished; what it measured is kept.
    """
    key = f"{wanted.name} {wanted.trials} trials"
    found = journal.find(key)
    if found:
        return Searched(**found)
    left = journal.remaining
    graph, variant = load(wanted.path), wanted.variant
    options = variant.options(resolve_target(wanted.target))
    model = best_model(wanted.seed) if variant.model else None
    settings = Settings(
        wanted.seed, evolution=variant.evolution, reformer=variant.reformer, model=model
    )
    file = journal.directory / f"{wanted.name}.db"
    runners = (wanted.runner,) if wanted.runner else ()
    tuning = Tuning(Budget(wanted.trials, left), settings, file, runners=runners)
    result, _ = tune_graph(graph, options, tuning, find_partitioner(variant.partitioner))
    spent = f"{wanted.name} spent"
    seconds = journal.find(spent).get("seconds", 0.0) + result.elapsed
    journal.write(spent, {"seconds": seconds})
    if result.interrupted:
        raise KeyboardInterrupt
    if result.trials < wanted.trials and result.elapsed >= left:
        raise OutOfTimeError
    statuses: dict[str, int] = {
        status: n for status, n in result.statuses.most_common() if status != "ok"
    }
    wanted_keys: set[TaskKey] = {task.task.key for task in result.tasks}
    known = known_schedules(file, options)
    lines = [record.to_json() for task, record in known.items() if task in wanted_keys]
    done = Searched(result.default, result.best, seconds, statuses, lines)
    journal.write(key, dataclasses.asdict(done))
    return done


def in_place(
    journal: Journal, key: str, graph: Graph, builds: Callable[[], Sequence[Compilation]]
) -> list[float]:
    """Seconds of builds of a network, side by side: measured once for each key.

    Args:
        journal: Where.
        key: What is compared.
        graph: The network.
        builds: Makes its builds; not called where they were measured.
    """
    found = journal.find(key)
    if not found:
        host = FULL.options(resolve_target("host"))
        nets = [load_net(graph, compilation, host) for compilation in builds()]
        found = {"seconds": [sum(steps) for steps in fastest_steps(nets, _ROUNDS)]}
        journal.write(key, found)
    return [float(seconds) for seconds in found["seconds"]]
