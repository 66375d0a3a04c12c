"""`ago play`: take the decisions of one step's schedule by hand.

Read `play_command` first. Questions go to stderr and the finished schedule to stdout, so that
`ago play model.onnx --node conv1 > schedule.py` works, with a person or a script at stdin.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from ago.autoschedule import schedule_program
from ago.backends import INTRINSICS
from ago.cli.arguments import Request, model_options
from ago.cli.group import examples
from ago.cli.steps import find_step, step_options
from ago.codegen.emit import emit_function
from ago.ir.lowering import lower_nodes
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.schedule.chooser import Decision
from ago.schedule.interactive import InteractiveChooser, QuitRequest, UndoRequest
from ago.schedule.trace import Schedule
from ago.target import Target, runs_on_host
from ago.tune import Candidate, measure_candidates


@click.command(
    "play",
    short_help="Take the decisions of one step's schedule by hand.",
    epilog=examples(
        ("ago play model.onnx --node /features/conv1/Conv", "pick each decision"),
        ("ago play model.onnx --step 3 -o mine.py", "keep the schedule as a script"),
        ("yes '' | ago play model.onnx --step 3", "the default schedule, and its time"),
    ),
)
@model_options
@step_options
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the schedule to this file instead of stdout.",
)
def play_command(request: Request, node: str | None, step: int | None, out: Path | None) -> None:
    """Pick each decision of the sketch for one step of MODEL.

    Each question lists what there is to choose from, with the analytic model's terms; the default
    is marked. Instead of a number, `print` shows the loops so far, `undo` goes back one question,
    `rest` takes the defaults from there on, `quit` leaves. At the end stands the time beside the
    default schedule's, where this machine can run the target's code, and the schedule: a Python
    script that runs on its own, or its trace with --json.
    """
    if node is None and step is None:
        raise click.UsageError("choose a step with --node or --step")
    if out is not None and not out.parent.is_dir():
        raise click.UsageError(f"--out: there is no directory {out.parent}")
    found = find_step(request, node, step)
    nodes, outputs = found.subgraph.nodes, found.subgraph.outputs
    naive = lower_nodes(found.graph, nodes, outputs, f"step_{found.number}").program
    click.echo(f"step {found.number}: {found.subgraph}", err=True)
    try:
        schedule = _play(naive, request.options.target)
    except QuitRequest:
        raise click.Abort() from None
    verify(schedule.program)
    click.echo(_times(schedule, naive, request.options.target), err=True)
    trace = schedule.trace
    text = trace.to_json() + "\n" if request.json else trace.to_python(naive)
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")


def _play(naive: Program, target: Target) -> Schedule:
    """The schedule of the person's decisions; each `undo` starts the sketch again."""
    answers: dict[str, Decision] = {}

    def read() -> str | None:
        click.echo("> ", err=True, nl=False)
        return sys.stdin.readline() or None

    while True:
        chooser = InteractiveChooser(answers, read, partial(click.echo, err=True))
        try:
            return schedule_program(naive, target, chooser)
        except UndoRequest:
            if answers:
                key, value = answers.popitem()
                click.echo(f"took back {key} = {value}", err=True)


def _times(schedule: Schedule, naive: Program, target: Target) -> str:
    """How fast the schedule is, beside the default one."""
    if not runs_on_host(target):
        return f"not timed: this machine cannot run code for {target.name}"
    table = INTRINSICS[target.isa]
    candidates = [
        Candidate(program, emit_function(program, target, table))
        for program in (schedule.program, schedule_program(naive, target).program)
    ]
    own, default = measure_candidates(candidates, target, table)
    return f"{1e6 * own:.1f} µs; default {1e6 * default:.1f} µs"
