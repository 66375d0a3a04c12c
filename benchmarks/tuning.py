"""What tuning gains: networks after more and more trials, and what each part of the search is for.

Read `Variant` and `tuned` first. Networks are compared in place: their steps run one after the
other, builds take turns, and the fastest run of each step counts, in CPU time of the thread.

    python -m benchmarks.tuning MODEL.onnx ... [--trials N ...] [--ablations] [--seeds N] [--quick]

writes the sections "Tuning" and "Tuning: ablations" of `benchmarks/RESULTS.md`. `--quick` tunes
the first model with 300 trials and prints the table only.
"""

from __future__ import annotations

import datetime
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from ago.api import load_net
from ago.cost_model.learned import best_model
from ago.frontend import load
from ago.ir.graph import Graph
from ago.options import Options
from ago.partition import DEFAULT_PARTITIONER, find_partitioner
from ago.pipeline import Compilation, compile_graph
from ago.runtime.compare import fastest_steps
from ago.target import resolve_target
from ago.tune.progress import Budget, Result
from ago.tune.search import EVOLUTION, RANDOM_SEARCH, Evolution
from ago.tune.session import Settings
from ago.tuning import Tuning, known_schedules, tune_graph
from benchmarks.tables import RESULTS, markdown_table, replace_section

_ROUNDS = 30
_QUICK_TRIALS = 300
_ABLATION_TRIALS = 300


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to search.

    Attributes:
        reformer: Whether parts with one complex operator are tuned first.
        intensive: Whether one nest may hold several complex operators.
        partitioner: Cuts the network.
        evolution: How candidates are bred.
        model: Whether a cost model ranks them.
    """

    reformer: bool = True
    intensive: bool = True
    partitioner: str = DEFAULT_PARTITIONER
    evolution: Evolution = EVOLUTION
    model: bool = True

    @property
    def options(self) -> Options:
        """How its networks are compiled."""
        return Options(resolve_target("host"), intensive_fusion=self.intensive)


FULL = Variant()

VARIANTS = {
    "full": FULL,
    "no_reformer": Variant(reformer=False),
    "no_intensive": Variant(intensive=False),
    "relay": Variant(partitioner="relay"),
    "without cost model": Variant(model=False),
    "random search": Variant(reformer=False, evolution=RANDOM_SEARCH, model=False),
}


def tuned(
    graph: Graph, variant: Variant, trials: int, seed: int, database: Path
) -> tuple[Result, Compilation]:
    """Tune a network and compile it with what was found.

    Args:
        graph: The network.
        variant: How to search.
        trials: Candidates, those in the database included.
        seed: Of the search.
        database: Its file.
    """
    model = best_model(seed) if variant.model else None
    settings = Settings(seed, evolution=variant.evolution, reformer=variant.reformer, model=model)
    partitioner = find_partitioner(variant.partitioner)
    tuning = Tuning(Budget(trials), settings, database)
    result, _ = tune_graph(graph, variant.options, tuning, partitioner)
    known = known_schedules(database, variant.options)
    return result, compile_graph(graph, variant.options, partitioner, known=known.get)


def in_place(graph: Graph, builds: Sequence[Compilation]) -> list[float]:
    """Seconds of builds of a network, side by side."""
    nets = [load_net(graph, compilation, FULL.options) for compilation in builds]
    return [sum(steps) for steps in fastest_steps(nets, _ROUNDS)]


def curve_rows(path: str, levels: Sequence[int], directory: Path) -> list[list[str]]:
    """A network with its default schedules and after more and more trials: a row each."""
    graph = load(path)
    builds, results, spent = [compile_graph(graph, FULL.options)], [], 0.0
    for trials in levels:
        result, build = tuned(graph, FULL, trials, 0, directory / "curve.db")
        spent += result.elapsed
        results.append((result, spent))
        builds.append(build)
        click.echo(f"{Path(path).stem} {trials} trials\n{result}")
    default, *times = in_place(graph, builds)
    rows = [[Path(path).stem, "0", "", f"{1e3 * default:.3f}", "", ""]]
    for trials, (result, seconds), taken in zip(levels, results, times, strict=True):
        ends = ", ".join(f"{n} {s}" for s, n in result.statuses.most_common() if s != "ok")
        gain = f"{default / taken - 1.0:+.1%}"
        rows.append(["", str(trials), f"{seconds:.0f}", f"{1e3 * taken:.3f}", gain, ends])
    return rows


def ablation_rows(path: str, seeds: int, directory: Path) -> list[list[str]]:
    """A network tuned in each way with several seeds: a row a way."""
    graph, rows = load(path), []
    full = 0.0
    for name, variant in VARIANTS.items():
        builds = []
        for seed in range(seeds):
            file = directory / f"{name.replace(' ', '_')}-{seed}.db"
            builds.append(tuned(graph, variant, _ABLATION_TRIALS, seed, file)[1])
        partitioner = find_partitioner(variant.partitioner)
        default = compile_graph(graph, variant.options, partitioner)
        reference, before, *times = in_place(
            graph, [compile_graph(graph, FULL.options), default, *builds]
        )
        ratios = [taken / reference for taken in times]
        middle = statistics.median(ratios)
        full = full or middle
        spread = f"{min(ratios):.3f} to {max(ratios):.3f}"
        cells = [f"{before / reference:.3f}", f"{middle:.3f}", spread, f"{middle / full:.3f}"]
        rows.append([Path(path).stem if name == "full" else "", name, *cells])
        click.echo(f"{rows[-1]}")
    return rows


def _curve_table(rows: Sequence[Sequence[str]]) -> str:
    header = ("network", "trials", "seconds of search", "ms in place", "gain", "failed trials")
    return markdown_table(header, rows)


@click.command()
@click.argument("models", nargs=-1, required=True)
@click.option("--trials", multiple=True, type=int, default=(100, 300, 1000), show_default=True)
@click.option("--ablations", is_flag=True, help="Also search in each other way.")
@click.option("--seeds", default=3, show_default=True, help="Of each ablation.")
@click.option("--quick", is_flag=True, help="The first model, 300 trials, nothing written.")
@click.option("--host", default="this machine", help="What the machine is.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=RESULTS)
def main(
    models: tuple[str, ...],
    trials: tuple[int, ...],
    ablations: bool,
    seeds: int,
    quick: bool,
    host: str,
    out: Path,
) -> None:
    """Tune MODELS (ONNX files) and write what it gained."""

    def write(title: str, table: str) -> None:
        date = datetime.datetime.now(tz=datetime.UTC).date()
        text = out.read_text(encoding="utf-8") if out.exists() else ""
        section = f"{date}, {host}, one thread.\n\n{table}"
        out.write_text(replace_section(text, title, section), encoding="utf-8")

    with tempfile.TemporaryDirectory(prefix="ago-tuning-") as name:
        if quick:
            click.echo(_curve_table(curve_rows(models[0], (_QUICK_TRIALS,), Path(name))))
            return
        rows: list[list[str]] = []
        for model in models:
            directory = Path(name, Path(model).stem)
            rows += curve_rows(model, sorted(trials), directory)
            write("Tuning", _curve_table(rows))
        if not ablations:
            return
        rows = []
        for model in models:
            rows += ablation_rows(model, seeds, Path(name, Path(model).stem))
            header = (
                "network",
                f"{_ABLATION_TRIALS} trials",
                "before / default",
                "after / default",
                f"range of {seeds} seeds",
                "after / full",
            )
            write("Tuning: ablations", markdown_table(header, rows))


if __name__ == "__main__":
    main()
