"""Operators that map elements, on any shapes: interpreted and compiled as the reference says."""

from __future__ import annotations

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate
from ago.ir.interpreter import interpret
from ago.ir.lowering import lower_nodes
from ago.ir.verify import verify
from tests.support.cases import Case, difference, failures, random_array, special
from tests.support.compiled import HOST_TARGETS
from tests.support.pointwise_cases import SPECS

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""Without shrinking: each example runs a C compiler."""


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """An operator on shapes of rank 0 to 5 that broadcast, with NaN and infinities among floats."""
    number = draw(st.integers(0, len(SPECS) - 1))
    op, dtypes, attrs = SPECS[number]
    shapes = hnp.mutually_broadcastable_shapes(
        num_shapes=len(dtypes), max_dims=5, min_side=1, max_side=5
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    b = GraphBuilder("case")
    operands = [
        b.input(name, shape, dtype)
        for name, shape, dtype in zip("abc", draw(shapes).input_shapes, dtypes, strict=False)
    ]
    graph = b.build(b.apply(op, *operands, **attrs))
    case = Case(op, graph, {n: random_array(graph.types[n], rng) for n in graph.inputs})
    return special(case) if draw(st.booleans()) else case


@given(cases())
def test_naive_nests_mean_the_reference(case):
    lowered = lower_nodes(case.graph, case.graph.nodes, case.graph.outputs, "whole")
    verify(lowered.program)
    arrays = {b: case.feeds[v] for b, v in lowered.values.items() if v in case.feeds}
    (found,) = interpret(lowered.program, arrays, "checked").values()
    with np.errstate(all="ignore"):
        (expected,) = evaluate(case.graph, case.feeds).values()
    assert difference(found, expected) == ""


@settings(max_examples=2, phases=PHASES)
@given(st.lists(cases(), min_size=30, max_size=30))
def test_compiled_operators_mean_the_reference(drawn):
    named = [Case(f"{case.name} {k}", case.graph, case.feeds) for k, case in enumerate(drawn)]
    assert failures(named, HOST_TARGETS[-1]) == []
