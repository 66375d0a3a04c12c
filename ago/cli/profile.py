"""`ago profile`: where does the time go?"""

from __future__ import annotations

import click

from ago.cli.arguments import Request, model_options
from ago.cli.console import print_json, working
from ago.cli.group import examples
from ago.runtime.devices import KINDS


@click.command(
    "profile",
    short_help="Time each step of a model, here or on a device.",
    epilog=examples(
        ("ago profile model.onnx", "beside what the machine can do"),
        ("ago profile model.onnx --json", "with the operators of each step"),
        ("ago profile model.onnx --target cortex-a76 --runner ssh:pi", "on another machine"),
    ),
)
@model_options
@click.option(
    "--rounds", default=30, show_default=True, type=click.IntRange(min=1), help="Runs of the model."
)
@click.option("--seed", default=0, show_default=True, help="Of the random inputs.")
@click.option("--runner", metavar="DEVICE", help=f"Where it runs: {KINDS}; by default in here.")
def profile_command(request: Request, rounds: int, seed: int, runner: str | None) -> None:
    """Compile MODEL and time each of its steps, one thread, on this machine or on a device.

    A step's time is measured; its split by operator is estimated. The share of the roofline is the
    least time that the machine's peak and bandwidths allow, over the measured one.
    """
    graph = request.load()
    net = request.open(graph)
    with working("measuring"):
        profile = net.profile(rounds=rounds, seed=seed, runner=runner)
    if request.json:
        print_json(profile.to_dict())
    else:
        click.echo(str(profile))
