"""Compares a compiled model with the float64 reference: as a whole, then step by step.

Read `verify_net` first. Each step is fed with the reference's own inputs, so that its error is its
own. A step that diverges is compiled again with every operator apart; that names the operator, or,
where all of them agree, the fusion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ago.errors import VerificationError
from ago.ir.evaluate import evaluate
from ago.ir.tensor import Layout, TensorType, numpy_dtype
from ago.runtime.anatomy import Anatomy, Array, Runnable
from ago.runtime.artifact import TensorInfo
from ago.runtime.library import aligned_array

STEP_TOLERANCE = 1e-5
"""Largest error of one step, relative to the largest absolute value of its output."""

MODEL_TOLERANCE = 1e-4
"""Largest error of the whole model, likewise."""

Reference = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class StepReport:
    """One step's error.

    Attributes:
        index: Number of the step.
        label: Its operators.
        error: Largest absolute difference over the largest absolute value; infinite where NaN or
            infinities differ.
    """

    index: int
    label: str
    error: float


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """A verified model.

    Attributes:
        max_error: Error of the outputs of the whole model, as in `StepReport`.
        steps: Each step on the reference's inputs.
    """

    max_error: float
    steps: tuple[StepReport, ...]

    def to_dict(self) -> dict[str, object]:
        """The report as plain data."""
        steps = [{"index": s.index, "label": s.label, "error": s.error} for s in self.steps]
        return {"max_error": self.max_error, "steps": steps}

    def __str__(self) -> str:
        worst = max(self.steps, key=lambda s: s.error, default=None)
        lines = [f"verified: outputs within {self.max_error:.1e} of the largest value"]
        if worst is not None:
            lines.append(
                f"largest error of one of {len(self.steps)} steps: {worst.error:.1e} "
                f"(step {worst.index}, {worst.label})"
            )
        return "\n".join(lines)


def verify_net(net: Runnable, anatomy: Anatomy, inputs: Mapping[str, Array]) -> VerifyReport:
    """Verify a compiled model on given inputs.

    Args:
        net: The model.
        anatomy: Its inside.
        inputs: One array for each input, by name.

    Returns:
        The errors, all within tolerance.

    Raises:
        VerificationError: A step diverges: names its first diverging node, or the fusion.
    """
    values = {**inputs, **evaluate(anatomy.compiled, inputs, keep="all")}
    steps = tuple(
        StepReport(number, step.label, _step_error(net, anatomy, number, inputs, values))
        for number, step in enumerate(anatomy.steps)
    )
    bad = next((s for s in steps if not s.error <= STEP_TOLERANCE), None)
    if bad is not None:
        raise VerificationError(_diagnose(anatomy, bad, values))
    expected = evaluate(anatomy.original, inputs)
    outputs = net.run(inputs)
    error = max((relative_error(outputs[name], expected[name]) for name in expected), default=0.0)
    if not error <= MODEL_TOLERANCE:
        raise VerificationError(
            f"outputs differ by {error:.1e} of the largest value though each step agrees: "
            "a graph pass or the memory plan is wrong"
        )
    return VerifyReport(error, steps)


def relative_error(got: Array, expected: Array) -> float:
    """Largest absolute difference over the largest absolute value; infinite if finiteness differs.

    Integers and bools are right or wrong, as an index is: theirs is the share of elements that
    differ.

    Args:
        got: Computed values.
        expected: Reference of the same shape.
    """
    if expected.dtype.kind in "biu":
        return float(np.mean(got != expected)) if expected.size else 0.0
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    same = np.isnan(got) == np.isnan(expected)
    infinite = np.isinf(expected)
    if not same.all() or not np.array_equal(got[infinite], expected[infinite]):
        return float("inf")
    finite = np.isfinite(expected)
    if not np.isfinite(got[finite]).all():
        return float("inf")
    wanted = expected[finite]
    if not wanted.size:
        return 0.0
    scale = max(float(np.abs(wanted).max()), float(np.finfo(np.float32).tiny))
    return float(np.abs(got[finite] - wanted).max()) / scale


def _step_error(
    net: Runnable,
    anatomy: Anatomy,
    number: int,
    inputs: Mapping[str, Array],
    values: Reference,
) -> float:
    """Run one step on the reference's values, everything else in memory being NaN."""
    graph, step = anatomy.compiled, anatomy.steps[number]
    workspace = aligned_array(net.artifact.workspace_bytes, np.uint8)
    workspace[:] = 0xFF
    for name in step.inputs:
        place = anatomy.places[name]
        if place.kind == "workspace":
            _memory(workspace, place.position, graph.type_of(name))[...] = values[name]
    given = [np.ascontiguousarray(inputs[i.name], i.numpy) for i in net.artifact.inputs]
    outputs: list[Array] = [info.unwritten() for info in net.artifact.outputs]
    for name in step.inputs:
        place = anatomy.places[name]
        if place.kind == "output":
            outputs[place.position][...] = values[name]
    net.step(number, given, outputs, workspace)
    errors = []
    for name in step.outputs:
        place, kind = anatomy.places[name], graph.type_of(name)
        if place.kind == "output":
            got = outputs[place.position]
        else:
            got = _memory(workspace, place.position, kind)
        errors.append(relative_error(got, values[name]))
    return max(errors, default=0.0)


def _diagnose(anatomy: Anatomy, bad: StepReport, values: Reference) -> str:
    """Name the first node of a diverging step that is wrong by itself, or the fusion."""
    step = anatomy.steps[bad.index]
    where = f"step {bad.index} ({bad.label}) differs by {bad.error:.1e} of the largest value"
    if len(step.nodes) > 1:
        alone = anatomy.isolate(bad.index)
        apart = alone.anatomy
        types = anatomy.compiled.types
        feeds = {n: values[n].astype(numpy_dtype(types[n].dtype)) for n in step.inputs}
        reference = evaluate(apart.compiled, feeds, keep="all")
        for number, part in enumerate(apart.steps):
            error = _step_error(alone, apart, number, feeds, reference)
            if not error <= STEP_TOLERANCE:
                return f"{where}; node {part.nodes[0]} alone differs by {error:.1e}"
        names = ", ".join(step.nodes)
        return f"{where}; each of its nodes alone agrees: the fusion of {names} is wrong"
    return f"{where}; its only node is {step.nodes[0]}"


def _memory(workspace: npt.NDArray[np.uint8], offset: int, kind: TensorType) -> Array:
    """The elements of a tensor in the workspace, in logical order, as a view."""
    layout = kind.layout or Layout.row_major(kind.rank)
    raw = workspace[offset : offset + kind.nbytes].view(numpy_dtype(kind.dtype))
    cut = [
        slice(start, start + kind.shape[axis])
        for axis, start in zip(layout.order, layout.starts, strict=True)
    ]
    inverse = [layout.order.index(axis) for axis in range(kind.rank)]
    return raw.reshape(kind.physical_shape)[tuple(cut)].transpose(inverse)


def random_inputs(infos: Sequence[TensorInfo], seed: int) -> dict[str, Array]:
    """Inputs that are the same for the same seed.

    Args:
        infos: The inputs.
        seed: Of the generator.

    Returns:
        Arrays by name: standard normal floats; of other types 0 and 1, which most models accept as
        token numbers, masks and the like.
    """
    generator = np.random.default_rng(seed)
    return {
        info.name: generator.standard_normal(info.shape, dtype=np.float32).astype(info.numpy)
        if info.numpy.kind == "f"
        else generator.integers(0, 2, info.shape).astype(info.numpy)
        for info in infos
    }
