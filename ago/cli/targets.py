"""`ago targets`: the CPUs that AGO compiles for."""

from __future__ import annotations

from dataclasses import asdict

import click

from ago.cli.console import print_json, print_table
from ago.cli.group import examples
from ago.target import TARGETS, Target, detect_host, runs_on_host


@click.command(
    "targets",
    short_help="List the CPUs AGO compiles for.",
    epilog=examples(
        ("ago targets", "names for --target, with lanes, registers, caches"),
        ("ago targets --json", "the same as data"),
    ),
)
@click.option("--json", is_flag=True, help="Print one JSON value.")
def targets_command(json: bool) -> None:
    """List the CPUs AGO compiles for, this machine ("host") first.

    `runs here` says whether compiled code runs on this machine; AArch64 code runs anywhere under
    emulation (see tools/cross_build.py).
    """
    targets = [detect_host(), *TARGETS.values()]
    if json:
        print_json([{**asdict(target), "runs_here": runs_on_host(target)} for target in targets])
        return
    columns = ("name", "code", "lanes", "registers", "L1 KiB", "L2 KiB", "L3 KiB", "runs here")
    print_table(columns, [_row(target) for target in targets])


def _row(target: Target) -> tuple[str, ...]:
    caches = (target.l1_bytes, target.l2_bytes, target.l3_bytes)
    return (
        target.name,
        target.isa,
        str(target.lanes),
        str(target.vector_registers),
        *(str(size // 1024) if size else "-" for size in caches),
        "yes" if runs_on_host(target) else "no",
    )
