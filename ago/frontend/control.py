"""Control flow whose course is known while importing: branches are chosen, loops unrolled.

Read `choose_branch` first. Invariant: what depends on data is refused, never guessed.
"""

from __future__ import annotations

from ago.errors import ModelError
from ago.frontend.draft import GraphDraft
from ago.frontend.onnx_ops.base import RefusalError
from ago.frontend.raw import RawGraph, RawNode
from ago.frontend.rewrite import inline


def choose_branch(node: RawNode, draft: GraphDraft) -> list[RawNode]:
    """Return the nodes of the branch that an `If` takes.

    Raises:
        RefusalError: If the condition is not constant, or the node is another than `If`.
        ModelError: If the branch is missing.
    """
    if node.op != "If" or node.domain:
        raise RefusalError("the operator is not supported")
    condition = draft.context.constant(node.input(0), "condition")
    if condition is None or condition.size != 1:
        raise ModelError("the condition must be one truth value")
    branch = node.attrs.get("then_branch" if condition.any() else "else_branch")
    if not isinstance(branch, RawGraph):
        raise ModelError("a branch is missing")
    return inline(branch, node.name, (), node.outputs, draft.fresh)
