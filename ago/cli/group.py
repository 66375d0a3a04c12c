"""What all commands share: help with examples, and how errors reach a person.

Read `AgoGroup` first.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from ago.errors import AgoError
from ago.version import __version__

_HELP = """Compile trained neural networks into fast, standalone C.

`ago COMMAND --help` explains a command. Compiled code is cached; the environment variable
AGO_CACHE_DIR says where.
"""


def examples(*rows: tuple[str, str]) -> str:
    """The end of a command's help.

    Args:
        *rows: Command lines and what they do.

    Returns:
        Text for click's `epilog`, with a mark in front that keeps it from being wrapped.
    """
    width = max(len(line) for line, _ in rows)
    lines = [f"  {line:<{width}}  {meaning}".rstrip() for line, meaning in rows]
    return "\n".join(["\b", "Examples:", *lines])


_EXAMPLES = examples(
    ("ago optimize model.onnx", "compile for this machine; say what came out"),
    ("ago optimize model.onnx -o out", "also write C, header, weights and library"),
    ("ago verify model.onnx", "compare with the float64 reference"),
    ("ago run model.onnx --repeat 100", "run and time it"),
    ("ago show model.onnx --after c", "read what was generated"),
)


class AgoGroup(click.Group):
    """The commands in a fixed order, their errors as one message and an exit code.

    Args:
        commands: In the order that help lists them.
    """

    def __init__(self, commands: Sequence[click.Command]) -> None:
        super().__init__(
            "ago",
            help=_HELP,
            epilog=_EXAMPLES,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        )
        click.version_option(__version__, message="ago %(version)s")(self)
        for command in commands:
            self.add_command(command)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of definition rather than of the alphabet."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command.

        Raises:
            ClickException: The command failed on purpose; click prints it and exits with 1.
        """
        try:
            return super().invoke(ctx)
        except (AgoError, OSError) as error:
            raise click.ClickException(str(error)) from error
