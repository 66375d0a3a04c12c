"""All measurements of one run, written to `benchmarks/RESULTS.md`.

python -m benchmarks MODEL.onnx ...
"""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from ago.models import MODELS
from benchmarks.end_to_end import comparison_section, instruction_section
from benchmarks.kernels import grid_section, model_section
from benchmarks.machine import measure, table
from benchmarks.partition import partition_section
from benchmarks.tables import pin

_HEAD = """\
# Results

{date}, {host}, one thread.

Everything is timed in one process on one core: batches of a kernel alternate with batches of bare
multiply-adds, and engines take turns in an order that rotates; a time is the fastest batch's, a
share or ratio the median over sweeps or rounds. Read shares and ratios, not times: other tenants of
the machine and its clock move the times by up to 30 %.

* `share`: speed over that of independent multiply-adds in registers, timed beside the kernel.
* `level`: where the kernel's inputs, weights and outputs live when it runs again and again.
* `bound`: the time in which that level could deliver them; `limit` is `memory` where a kernel is
  within 1.3 times of it.
* `decisions`: register tile (rows x vectors) and place of the loop over tiles of the channels.
"""


@click.command()
@click.argument("models", nargs=-1)
@click.option("--core", default=0, help="The CPU to run on.")
@click.option("--host", default="this machine", help="What the machine is, for the first line.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path(__file__).with_name("RESULTS.md"),
    help="The file to write.",
)
def main(models: tuple[str, ...], core: int, host: str, out: Path) -> None:
    """Measure the machine, kernels, and MODELS (ONNX files) beside other engines."""
    pin(core)
    date = datetime.datetime.now(tz=datetime.UTC).date()
    click.echo("machine", err=True)
    machine = measure()
    parts = [_HEAD.format(date=date, host=host), "## Machine\n", table(machine)]
    click.echo("kernels", err=True)
    parts += ["## Kernels\n", model_section(models or tuple(MODELS), machine)]
    click.echo("grid of shapes", err=True)
    parts += ["## Grid of shapes that no model has\n", grid_section(machine)]
    if models:
        click.echo("end to end", err=True)
        parts += ["## End to end\n", comparison_section(models)]
        click.echo("partition", err=True)
        parts += ["## Partition\n", partition_section(models, host)]
        click.echo("AArch64 instructions", err=True)
        parts += ["## AArch64 instructions\n", instruction_section(models)]
    out.write_text("\n".join(parts), encoding="utf-8")
    click.echo(f"wrote {out}")


if __name__ == "__main__":
    main()
