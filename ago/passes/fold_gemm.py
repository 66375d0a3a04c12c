"""Gemm's transposition and factors into its constant operands.

Read `fold_gemm` first. Invariant: a constant right operand ends up as `[K, N]`, a constant addend
unscaled.
"""

from __future__ import annotations

from dataclasses import replace

from ago.ir.attributes import read_float, read_int
from ago.ir.graph import Graph, Node
from ago.passes.draft import Draft


def fold_gemm(graph: Graph) -> Graph:
    """Apply `trans_b`, `alpha` and `beta` to constant operands of each Gemm.

    Args:
        graph: Any graph.

    Returns:
        A graph equivalent up to the rounding of scaled constants to float32.
    """
    draft = Draft(graph)
    for node in graph.nodes:
        draft.append(_folded(draft, node) if node.op == "Gemm" else node)
    return draft.finish()


def _folded(draft: Draft, node: Node) -> Node:
    attrs, inputs = dict(node.attrs), list(node.inputs)
    weight = draft.param(inputs[1])
    alpha, beta = read_float(attrs, "alpha"), read_float(attrs, "beta")
    if weight is not None and (read_int(attrs, "trans_b") or alpha != 1.0):
        oriented = weight.T if read_int(attrs, "trans_b") else weight
        inputs[1] = draft.add_param(f"{node.name}.folded.weight", alpha * oriented)
        attrs.update(trans_b=0, alpha=1.0)
    addend = draft.param(inputs[2]) if len(inputs) > 2 else None
    if addend is not None and beta != 1.0:
        inputs[2] = draft.add_param(f"{node.name}.folded.bias", beta * addend)
        attrs["beta"] = 1.0
    return replace(node, inputs=tuple(inputs), attrs=attrs)
