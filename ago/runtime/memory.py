"""What a model needs of memory: code, weights, workspace, and the peak at each step.

Read `MemoryReport` first. All figures are bytes. Code and weights are only read; workspace, inputs
and outputs are the memory that a run writes to.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from ago.runtime.artifact import Artifact

_LONGEST_LABEL = 48


@dataclass(frozen=True, slots=True)
class WorkspaceFigures:
    """The workspace of one way to run a model.

    Attributes:
        planned: Its size.
        lower_bound: Most bytes that are live at any one step: no plan needs less.
        by_size: Size of a plan that places tensors one after another, the largest first.
    """

    planned: int
    lower_bound: int
    by_size: int

    @property
    def excess(self) -> float:
        """How far the plan is above the lower bound: 0.03 is 3 %."""
        return self.planned / self.lower_bound - 1 if self.lower_bound else 0.0


@dataclass(frozen=True, slots=True)
class StepMemory:
    """One step.

    Attributes:
        label: Its operators.
        function: C function that computes it; steps may share one.
        weights: Constants that it reads.
        scratch: Workspace that it alone uses, while it runs.
        live: Workspace in use while it runs, its scratch included.
    """

    label: str
    function: str
    weights: int
    scratch: int
    live: int


@dataclass(frozen=True, slots=True)
class MemoryFigures:
    """What the compiler knows of a model's memory.

    Attributes:
        steps: In order of execution.
        workspace: As the model runs.
        model_order: The same steps in the order of the model's file.
        unfused: One step an operator, in the order of the model's file; without scratch.
    """

    steps: tuple[StepMemory, ...]
    workspace: WorkspaceFigures
    model_order: WorkspaceFigures
    unfused: WorkspaceFigures


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """A model's memory; print it, or make JSON (`to_dict`) or a page (`to_html`) of it.

    Attributes:
        name: The model.
        figures: What the compiler knows.
        weights: Weights with their header.
        inputs: All inputs.
        outputs: All outputs.
        code: Code by C function, the entry points and checks as well; None where the object files
            could not be read.
    """

    name: str
    figures: MemoryFigures
    weights: int
    inputs: int
    outputs: int
    code: Mapping[str, int] | None

    @classmethod
    def of(
        cls, artifact: Artifact, figures: MemoryFigures, code: Mapping[str, int] | None
    ) -> MemoryReport:
        """The report of an artifact.

        Args:
            artifact: The compiled model.
            figures: What the compiler knows.
            code: Code by function, where it is known.
        """
        inputs, outputs = (
            sum(info.bytes for info in infos) for infos in (artifact.inputs, artifact.outputs)
        )
        weights = len(artifact.weights_image)
        return cls(artifact.name, figures, weights, inputs, outputs, code)

    @property
    def code_bytes(self) -> int | None:
        """All code; None where it is not known."""
        return None if self.code is None else sum(self.code.values())

    @property
    def peak(self) -> int:
        """Memory that a run writes to: workspace, inputs and outputs."""
        return self.figures.workspace.planned + self.inputs + self.outputs

    def step_code(self, step: StepMemory) -> int | None:
        """Code of a step's function; None where it is not known."""
        return None if self.code is None else self.code.get(step.function)

    def to_dict(self) -> dict[str, object]:
        """The report as plain data."""
        return {
            "model": self.name,
            "code": self.code_bytes,
            "weights": self.weights,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "peak": self.peak,
            "workspace": asdict(self.figures.workspace),
            "workspace_in_model_order": asdict(self.figures.model_order),
            "workspace_unfused": asdict(self.figures.unfused),
            "steps": [
                {**asdict(step), "code": self.step_code(step)} for step in self.figures.steps
            ],
        }

    def __str__(self) -> str:
        lines = [f"{name:<28}{value}" for name, value in self._totals()]
        lines += ["", f"{'step':>4} {'code':>9} {'weights':>11} {'scratch':>9} {'live':>11}"]
        for number, step in enumerate(self.figures.steps):
            label = step.label
            if len(label) > _LONGEST_LABEL:
                label = f"{label[: _LONGEST_LABEL - 3]}..."
            lines.append(
                f"{number:>4} {_count(self.step_code(step)):>9} {step.weights:>11,} "
                f"{step.scratch:>9,} {step.live:>11,}  {label}"
            )
        return "\n".join(lines)

    def _totals(self) -> list[tuple[str, str]]:
        """What concerns the model as a whole, in words."""
        figures = self.figures
        return [
            ("code", f"{_count(self.code_bytes)} bytes"),
            ("weights", f"{self.weights:,} bytes"),
            ("inputs, outputs", f"{self.inputs:,} and {self.outputs:,} bytes"),
            ("workspace", _plan_text(figures.workspace)),
            ("  in the model's own order", _plan_text(figures.model_order)),
            ("  without fusion", _plan_text(figures.unfused)),
            ("peak of a run", f"{self.peak:,} bytes: workspace, inputs, outputs"),
        ]

    def to_html(self) -> str:
        """A page that stands on its own: totals, and the live bytes of each step as bars."""
        highest = max((step.live for step in self.figures.steps), default=0) or 1
        rows = "\n".join(
            f"<tr><td>{number}<td>{_count(self.step_code(step))}<td>{step.weights:,}"
            f"<td>{step.scratch:,}<td>{step.live:,}"
            f'<td class="bar"><i style="width:{100 * step.live / highest:.1f}%"></i>'
            f'<td class="text">{html.escape(step.label)}'
            for number, step in enumerate(self.figures.steps)
        )
        totals = "\n".join(
            f"<tr><td class='text'>{html.escape(name)}<td class='text'>{html.escape(value)}"
            for name, value in self._totals()
        )
        return _PAGE.format(name=html.escape(self.name), totals=totals, rows=rows)


_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Memory of {name}</title>
<style>
body {{ font: 14px sans-serif; margin: 2em; }}
table {{ border-collapse: collapse; margin-bottom: 2em; }}
td, th {{ padding: 2px 10px; text-align: right; }}
td.text {{ text-align: left; }}
td.bar {{ width: 240px; }}
td.bar i {{ display: block; height: 12px; background: #47a; }}
tr:nth-child(even) {{ background: #f3f3f3; }}
</style>
<h1>Memory of {name}</h1>
<table>
{totals}
</table>
<table>
<tr><th>step<th>code<th>weights<th>scratch<th>live<th>workspace in use<th>operators
{rows}
</table>
</html>
"""


def _count(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _plan_text(figures: WorkspaceFigures) -> str:
    return (
        f"{figures.planned:,} bytes, {100 * figures.excess:.1f} % above the lower bound of "
        f"{figures.lower_bound:,}; {figures.by_size:,} by size"
    )
