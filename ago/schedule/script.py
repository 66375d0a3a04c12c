"""A schedule as a Python script that a person can run and edit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ago.ir.program import Program
from ago.ir.source import program_source

_RUN = """\
if __name__ == "__main__":
    scheduled = schedule(naive())
    verify(scheduled)
    print(scheduled)
"""


def write_script(
    workload: str,
    modules: Iterable[tuple[str, str]],
    comments: Iterable[str],
    calls: Sequence[tuple[str, str]],
    program: Program | None,
) -> str:
    """The text of a script.

    Args:
        workload: Key of the workload.
        modules: Module and name of each primitive that is called.
        comments: Lines that say what was decided.
        calls: Name of each applied primitive, and the text of its arguments.
        program: The naive program, for a script that runs on its own; None for one that only
            defines `schedule(program)`.
    """
    together: dict[str, list[str]] = {}
    for module, name in modules:
        together.setdefault(module, []).append(name)
    imports = [f"from {m} import {', '.join(sorted(names))}" for m, names in together.items()]
    naive: list[str] = []
    if program is not None:
        own, naive = program_source(program, "naive")
        imports += [*own, "from ago.ir.verify import verify"]
        naive += ["", ""]
    steps = [f"    program = {name}(program, {arguments})" for name, arguments in calls]
    head = [f'"""Schedule of workload {workload}."""', "", *sorted(imports), "", "", *naive]
    body = ["def schedule(program):", *(f"    # {line}" for line in comments), *steps]
    end = ["    return program", ""]
    return "\n".join([*head, *body, *end] + (["", _RUN] if program is not None else []))
