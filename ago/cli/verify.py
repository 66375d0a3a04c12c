"""`ago verify`: is the compiled model right?"""

from __future__ import annotations

import click

from ago.cli.arguments import Request, model_options
from ago.cli.console import print_json, working
from ago.cli.group import examples


@click.command(
    "verify",
    short_help="Compare a compiled model with the float64 reference.",
    epilog=examples(
        ("ago verify model.onnx", "as compiled for this machine"),
        ("ago verify tiny_mobilenet --target portable", "as plain C"),
    ),
)
@model_options
@click.option("--seed", default=0, show_default=True, help="Of the random inputs.")
def verify_command(request: Request, seed: int) -> None:
    """Compile MODEL for this machine and compare it with the float64 reference.

    The whole model is compared on random inputs, and so is each step on the reference's own
    inputs. Where one diverges the command fails and names the operator, or the fusion, at fault.
    """
    graph = request.load()
    net = request.open(graph)
    with working("computing the reference"):
        report = net.verify(seed=seed)
    if request.json:
        print_json(
            {"model": net.artifact.name, "target": net.artifact.target.name} | report.to_dict()
        )
    else:
        click.echo(str(report))
