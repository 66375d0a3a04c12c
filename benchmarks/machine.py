"""What this machine can do, as tables.

python -m benchmarks.machine
"""

from __future__ import annotations

import click

from ago.tune.machine import Machine, measure_machine
from benchmarks.tables import markdown_table, pin


def table(machine: Machine) -> str:
    """The machine as two tables in Markdown."""
    peaks = [[isa, f"{peak / 1e9:.1f}"] for isa, peak in machine.peaks.items()]
    levels = [
        [
            level.name,
            f"{level.capacity / 1024:.0f}" if level.capacity < float("inf") else "",
            f"{level.read / 1e9:.1f}",
            f"{level.copy / 1e9:.1f}",
        ]
        for level in machine.levels
    ]
    return "\n".join(
        [
            markdown_table(["instruction set", "FMA peak, GFLOP/s"], peaks),
            markdown_table(["level", "KiB", "read, GB/s", "copy, GB/s"], levels),
        ]
    )


@click.command()
@click.option("--core", default=0, help="The CPU to run on.")
def main(core: int) -> None:
    """Measure FMA peak and bandwidths of one core."""
    pin(core)
    click.echo(table(measure_machine()))


if __name__ == "__main__":
    main()
