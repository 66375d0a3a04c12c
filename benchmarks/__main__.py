"""All measurements of one run, each a section of `benchmarks/RESULTS.md`.

python -m benchmarks MODEL.onnx ...
"""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from ago.models import MODELS
from ago.tune.machine import measure_machine
from benchmarks.end_to_end import comparison_section, instruction_section
from benchmarks.kernels import grid_section, model_section
from benchmarks.machine import table
from benchmarks.tables import RESULTS, pin, replace_section

_METHOD = """\
{date}, {host}, one thread.

Everything is timed in one process on one core: batches of a kernel alternate with batches of bare
multiply-adds, and engines take turns in an order that rotates; a time is the fastest batch's, a
share or ratio the median over sweeps or rounds. Read shares and ratios, not times: other tenants of
the machine and its clock move the times by up to 30 %.
"""

_COLUMNS = """\
* `share`: speed over that of independent multiply-adds in registers, timed beside the kernel.
* `bound by`: what the kernel needs longest, and for how long. `arithmetic`: its operations at the
  peak, half of it where they are no multiply-adds. `loads`: vectors from L1, with the register tile
  that loads the fewest. `L1` to `memory`: its inputs, weights and outputs, from the level that
  holds all of them, as measured by `python -m benchmarks.machine`.
* `of bound`: the bound's share of the time. A kernel below 40 % of the peak and below 75 % of its
  bound is not explained; each table names those.
* `decisions`: register tile (rows x vectors), how its tail is split, place of the loop over tiles
  of the channels, steps unrolled.
"""


@click.command()
@click.argument("models", nargs=-1)
@click.option("--core", default=0, help="The CPU to run on.")
@click.option("--host", default="this machine", help="What the machine is.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=RESULTS)
def main(models: tuple[str, ...], core: int, host: str, out: Path) -> None:
    """Measure the machine, kernels, and MODELS (ONNX files) beside other engines."""
    pin(core)

    def write(title: str, section: str) -> None:
        text = out.read_text(encoding="utf-8") if out.exists() else ""
        out.write_text(replace_section(text, title, section), encoding="utf-8")
        click.echo(f"wrote {title}")

    date = datetime.datetime.now(tz=datetime.UTC).date()
    machine = measure_machine()
    write("Machine", _METHOD.format(date=date, host=host) + "\n" + table(machine))
    if models:
        write("End to end", comparison_section(models))
    write("Kernels", _COLUMNS + "\n" + model_section(models or tuple(MODELS), machine))
    write("Grid of shapes that no model has", grid_section(machine))
    if models:
        write("AArch64 instructions", instruction_section(models))


if __name__ == "__main__":
    main()
