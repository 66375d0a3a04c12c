"""The command `ago`: what `ago.optimize` and the pipeline offer, from a shell.

Read `main` first. Results go to stdout, progress and errors to stderr. Exit codes: 0 done, 1 AGO
refused or failed and said why in one message, 2 the command line is wrong.
"""

from ago.cli.db import db_command
from ago.cli.export import export_command
from ago.cli.group import AgoGroup
from ago.cli.optimize import optimize_command
from ago.cli.partition import partition_command
from ago.cli.play import play_command
from ago.cli.profile import profile_command
from ago.cli.run import run_command
from ago.cli.show import show_command
from ago.cli.targets import targets_command
from ago.cli.tune import tune_command
from ago.cli.verify import verify_command

__all__ = ["main"]

main = AgoGroup(
    commands=[
        optimize_command,
        tune_command,
        export_command,
        run_command,
        verify_command,
        profile_command,
        show_command,
        play_command,
        partition_command,
        db_command,
        targets_command,
    ]
)
"""The group of all commands; calling it runs the command line."""
