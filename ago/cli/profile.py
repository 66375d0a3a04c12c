"""`ago profile`: where does the time go?"""

from __future__ import annotations

import click

from ago.cli.arguments import Request, model_options
from ago.cli.console import print_json, working
from ago.cli.group import examples


@click.command(
    "profile",
    short_help="Time each step of a model on this machine.",
    epilog=examples(
        ("ago profile model.onnx", "beside what the machine can do"),
        ("ago profile model.onnx --json", "with the operators of each step"),
    ),
)
@model_options
@click.option(
    "--rounds", default=30, show_default=True, type=click.IntRange(min=1), help="Runs of the model."
)
@click.option("--seed", default=0, show_default=True, help="Of the random inputs.")
def profile_command(request: Request, rounds: int, seed: int) -> None:
    """Compile MODEL for this machine and time each of its steps, one thread.

    A step's time is measured; its split by operator is estimated. The share of the roofline is the
    least time that the machine's peak and bandwidths allow, over the measured one.
    """
    graph = request.load()
    net = request.open(graph)
    with working("measuring"):
        profile = net.profile(rounds=rounds, seed=seed)
    if request.json:
        print_json(profile.to_dict())
    else:
        click.echo(str(profile))
