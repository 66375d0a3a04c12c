"""What tuning gains: networks after more and more trials, and what each part of the search is for.

Read `Part` first. Networks are compared in place: their steps run one after the other, builds take
turns, and the fastest run of each step counts, in CPU time of the thread.

    python -m benchmarks.tuning PART MODEL.onnx ... [--journal DIR] [--minutes M] [--trials N ...]

PART is `curve`: the default schedules beside those after more and more trials; `ablations`: the
search without each of its parts, with several seeds; or `estimated`: cycles and instructions for
cortex-a76 before and after tuning without the device. It stops after so many minutes, and the same
command goes on from its journal; the tables of what is finished are printed, and written as
sections of a file with `--out`.
"""

from __future__ import annotations

import datetime
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from ago.errors import DeviceError
from ago.frontend import load
from ago.pipeline import Compilation
from ago.runtime.build import build
from ago.runtime.device import run_emulated
from ago.runtime.verify import random_inputs
from ago.target import resolve_target
from ago.tune.estimated import HERTZ
from ago.tune.runners import ESTIMATED
from benchmarks.searches import (
    FULL,
    VARIANTS,
    Journal,
    OutOfTimeError,
    Search,
    Searched,
    Variant,
    in_place,
    search,
)
from benchmarks.tables import markdown_table, replace_section

_DEVICE = "cortex-a76"

Rows = Iterator[list[str]]


@dataclass(frozen=True, slots=True)
class Part:
    """One of the tables.

    Attributes:
        title: Of its section.
        header: Titles of its columns.
        trials: Default of `--trials`.
        rows: Makes the rows of a network: those that are finished before the time is used up.
    """

    title: str
    header: Sequence[str]
    trials: Sequence[int]
    rows: Callable[[Journal, str, Sequence[int], int], Rows]


def curve_rows(journal: Journal, path: str, levels: Sequence[int], seeds: int) -> Rows:
    """A network with its default schedules and after more and more trials: a row each."""
    name, graph, host = Path(path).stem, load(path), resolve_target("host")
    for seed in range(seeds):
        found: list[Searched] = []
        for trials in levels:
            try:
                found.append(search(journal, Search(path, FULL, trials, seed)))
            except OutOfTimeError:
                break
        if not found:
            return
        reached = levels[: len(found)]

        def builds(found: Sequence[Searched] = tuple(found)) -> list[Compilation]:
            return [FULL.compile(graph, host, s) for s in (None, *(f.schedules for f in found))]

        key = f"{name} curve {seed} {reached} in place"
        default, *times = in_place(journal, key, graph, builds)
        yield [name if seed == 0 else "", str(seed), "0", "", f"{1e3 * default:.3f}", "", ""]
        for trials, one, taken in zip(reached, found, times, strict=True):
            failed = ", ".join(f"{n} {status}" for status, n in one.failed.items()) or "none"
            gain = f"{default / taken - 1.0:+.1%}"
            yield ["", "", str(trials), f"{one.seconds:.0f}", f"{1e3 * taken:.3f}", gain, failed]


def ablation_rows(journal: Journal, path: str, levels: Sequence[int], seeds: int) -> Rows:
    """A network tuned in each way with several seeds: a row a way.

    All ways get a seed before any gets the next one.
    """
    name, graph, host = Path(path).stem, load(path), resolve_target("host")
    found: dict[str, list[Searched]] = {variant.name: [] for variant in VARIANTS}
    try:
        for seed in range(seeds):
            for variant in VARIANTS:
                wanted = Search(path, variant, levels[-1], seed)
                found[variant.name].append(search(journal, wanted))
    except OutOfTimeError:
        pass
    full = 0.0
    for variant in VARIANTS:
        searched = found[variant.name]
        if not searched:
            return

        def builds(
            variant: Variant = variant, searched: Sequence[Searched] = tuple(searched)
        ) -> list[Compilation]:
            tuned = [variant.compile(graph, host, one.schedules) for one in searched]
            return [FULL.compile(graph, host), variant.compile(graph, host), *tuned]

        key = f"{name} {variant.name} {levels[-1]} trials {len(searched)} seeds in place"
        reference, before, *times = in_place(journal, key, graph, builds)
        ratios = [taken / reference for taken in times]
        middle = statistics.median(ratios)
        full = full or middle
        spread = f"{min(ratios):.3f} to {max(ratios):.3f}, {len(ratios)} seeds"
        cells = [f"{before / reference:.3f}", f"{middle:.3f}", spread, f"{middle / full:.3f}"]
        seconds = f"{statistics.mean(one.seconds for one in searched):.0f}"
        yield [name if variant is FULL else "", variant.name, str(levels[-1]), seconds, *cells]


def estimated_rows(journal: Journal, path: str, levels: Sequence[int], seeds: int) -> Rows:
    """A network's estimated cycles and counted instructions for a device, before and after."""
    name, target = Path(path).stem, resolve_target(_DEVICE)
    try:
        one = search(journal, Search(path, FULL, levels[-1], 0, _DEVICE, ESTIMATED))
    except OutOfTimeError:
        return
    key = f"{name} {_DEVICE} {levels[-1]} trials instructions"
    counts = journal.find(key)
    if not counts:
        graph = load(path)
        nets = [FULL.compile(graph, target, known) for known in (None, one.schedules)]
        counts = {"instructions": [count_instructions(net) for net in nets]}
        journal.write(key, counts)
    before, after = counts["instructions"]
    cells = []
    for old, new in ((one.default * HERTZ, one.best * HERTZ), (before, after)):
        cells += [f"{old / 1e6:.2f}", f"{new / 1e6:.2f}", f"{new / old:.3f}"]
    yield [name, str(levels[-1]), f"{one.seconds:.0f}", *cells]


def count_instructions(net: Compilation) -> int:
    """AArch64 instructions of one inference, emulated.

    Raises:
        DeviceError: They cannot be counted.
    """
    artifact = net.artifact
    with tempfile.TemporaryDirectory(prefix="ago-tuning-") as directory:
        library = build(artifact, "shared", Path(directory, f"lib{artifact.name}.so"))
        found = run_emulated(artifact, library, random_inputs(artifact.inputs, 0)).instructions
    if found is None:
        raise DeviceError("instructions are not counted: the counter needs a compiler of this host")
    return found


PARTS = {
    "curve": Part(
        "Tuning",
        ("network", "seed", "trials", "seconds of search", "ms in place", "gain", "failed trials"),
        (100, 300, 1000),
        curve_rows,
    ),
    "ablations": Part(
        "Tuning: ablations",
        (
            *("network", "search", "trials", "seconds of search", "before / default"),
            *("after / default, median", "range", "after / full"),
        ),
        (100,),
        ablation_rows,
    ),
    "estimated": Part(
        f"Tuning for {_DEVICE} without the device",
        (
            *("network", "trials", "seconds of search", "estimated Mcycles", "tuned", "ratio"),
            *("M instructions", "tuned", "ratio"),
        ),
        (200,),
        estimated_rows,
    ),
}


@click.command()
@click.argument("part", type=click.Choice(list(PARTS)))
@click.argument("models", nargs=-1, required=True)
@click.option("--trials", multiple=True, type=int, help="Of each search; several for `curve`.")
@click.option("--seeds", type=int, help="Of each search; by default 3 for `ablations`, else 1.")
@click.option("--minutes", default=600.0, show_default=True, help="Wall time of this run.")
@click.option(
    "--journal",
    default=Path("tuning-journal"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where finished searches are kept.",
)
@click.option("--host", default="this machine", help="What the machine is.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File of results.")
def main(
    part: str,
    models: tuple[str, ...],
    trials: tuple[int, ...],
    seeds: int | None,
    minutes: float,
    journal: Path,
    host: str,
    out: Path | None,
) -> None:
    """Tune MODELS (ONNX files) and print the table of PART."""
    chosen, held = PARTS[part], Journal(journal, 60.0 * minutes)
    levels = sorted(trials) or chosen.trials
    rows: list[list[str]] = []
    for model in models:
        rows += chosen.rows(held, model, levels, seeds or (3 if part == "ablations" else 1))
        table = markdown_table(chosen.header, rows)
        click.echo(table)
        if out is not None:
            date = datetime.datetime.now(tz=datetime.UTC).date()
            text = out.read_text(encoding="utf-8") if out.exists() else ""
            section = f"{date}, {host}, one thread.\n\n{table}"
            out.write_text(replace_section(text, chosen.title, section), encoding="utf-8")


if __name__ == "__main__":
    main()
