"""Networks that are half glue, at several sizes: all fusion, none of products, and Relay's cuts.

Read `size_table` first. The three ways of a network take turns on the same core, as in
`benchmarks.fusion`; the second table says what else than contractions takes the networks' time.

    python -m benchmarks.glue

writes the section "Networks that are half glue" of `benchmarks/RESULTS.md`, in about five minutes.
"""

from __future__ import annotations

import datetime
from pathlib import Path

import click

import ago
from ago.ir.ops import OPERATORS
from ago.models import MODELS
from ago.options import Options
from ago.partition import find_partitioner
from ago.pipeline import compile_graph
from ago.target import Target, resolve_target
from benchmarks.fusion import network_sample, paired
from benchmarks.steps import Model
from benchmarks.tables import RESULTS, markdown_table, pin, replace_section

TITLE = "Networks that are half glue"

_SIZES = {
    "shufflenet_v2_x1_0": ("size", (224, 112, 56)),
    "mobilevit_xxs": ("size", (256, 128)),
    "bert_tiny": ("tokens", (128, 64, 32)),
}
"""What a network calls its size, and the sizes."""

_ROUNDS = 15

_PROFILED = ("mobilenet_v2", "mnasnet1_0", "squeezenet1_1", "mobilevit_s", *_SIZES)

_WORDS = """\
{date}, {host}. Times of one inference over each other, by turns on one core, with the 95 % interval
of the median: `full` is the default, `no intensive` has one contraction a nest, `relay` one a
subgraph. Below 1 the first is faster.
"""

_PARTS = """\
What else than contractions takes time, in shares of one inference: estimated inside of a step, by
the arithmetic of its operators.
"""


def size_table(target: Target) -> str:
    """Each network at each of its sizes, in three ways."""
    rows = []
    for name, (dimension, sizes) in _SIZES.items():
        for size in sizes:
            graph = MODELS[name](**{dimension: size})
            ways = [
                compile_graph(graph, Options(target, intensive_fusion=on), find_partitioner(cuts))
                for on, cuts in ((True, "affix"), (False, "affix"), (True, "relay"))
            ]
            full, *others = (network_sample(Model(way)) for way in ways)
            ratios = [paired(full, other, _ROUNDS) for other in others]
            cells = [f"{r.median:.3f} ({r.low:.3f} to {r.high:.3f})" for r in ratios]
            rows.append([name, f"{dimension} {size}", f"{1e3 * ratios[0].fused:.3f}", *cells])
    header = ("network", "input", "full, ms", "full / no intensive", "full / relay")
    return markdown_table(header, rows)


def operator_table() -> str:
    """The share of contractions, and of the three other kinds of operators that take most."""
    rows = []
    for name in _PROFILED:
        profile = ago.optimize(MODELS[name]()).profile()
        shares = {op: s / profile.seconds for op, s in profile.by_operator.items()}
        others = [op for op in shares if OPERATORS[op].kind != "complex"]
        contractions = sum(share for op, share in shares.items() if op not in others)
        most = ", ".join(f"{op} {shares[op]:.1%}" for op in others[:3])
        rows.append([name, f"{contractions:.1%}", most])
    return markdown_table(("network", "contractions", "most of the rest"), rows)


@click.command()
@click.option("--core", default=0, help="The CPU to run on.")
@click.option("--host", default="this machine", help="What the machine is.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=RESULTS)
def main(core: int, host: str, out: Path) -> None:
    """Time networks that are half glue, with random weights."""
    pin(core)
    date = datetime.datetime.now(tz=datetime.UTC).date()
    words = _WORDS.format(date=date, host=host)
    tables = (size_table(resolve_target("host")), operator_table())
    section = f"{words}\n{tables[0]}\n{_PARTS}\n{tables[1]}"
    text = out.read_text(encoding="utf-8") if out.exists() else ""
    out.write_text(replace_section(text, TITLE, section), encoding="utf-8")
    click.echo(section)


if __name__ == "__main__":
    main()
