"""Control flow whose course is known while importing: branches are chosen, loops unrolled.

Read `unfold` first. Invariant: what depends on data is refused, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ago.errors import ModelError
from ago.frontend.draft import GraphDraft
from ago.frontend.onnx_ops.base import RefusalError, axis_in_range, int_attr, ints_attr
from ago.frontend.raw import RawGraph, RawNode
from ago.frontend.rewrite import constant_node, identity_node, inline

MOST_NODES = 20_000
"""Most nodes that a loop may become."""

_AXIS_AS_ATTRIBUTE = 11
"""An opset version in which Unsqueeze has its axes as an attribute."""

Unfolding = Callable[[RawNode, GraphDraft], Iterator[list[RawNode]]]


def unfold(node: RawNode, draft: GraphDraft) -> Iterator[list[RawNode]]:
    """Return the nodes that control flow comes to, in parts.

    Args:
        node: A node with graphs among its attributes.
        draft: What is known; each part is to be imported into it before the next is asked for.

    Raises:
        RefusalError: If its course depends on data, is too long, or the operator is unknown.
        ModelError: If the node is broken.
    """
    unfolding = None if node.domain else _UNFOLDINGS.get(node.op)
    if unfolding is None:
        raise RefusalError("the operator is not supported")
    return unfolding(node, draft)


def _if(node: RawNode, draft: GraphDraft) -> Iterator[list[RawNode]]:
    condition = draft.context.constant(node.input(0), "the condition")
    if condition is None or condition.size != 1:
        raise ModelError("the condition must be one truth value")
    name = "then_branch" if condition.any() else "else_branch"
    yield inline(_body(node, name), node.name, (), node.outputs, draft.fresh)


def _loop(node: RawNode, draft: GraphDraft) -> Iterator[list[RawNode]]:
    body = _body(node, "body")
    limit = draft.context.constant(node.input(0), "the number of iterations")
    condition = draft.context.constant(node.input(1), "the condition")
    trips = MOST_NODES if limit is None else int(limit.item())
    going = condition is None or bool(condition.item())
    carried = list(node.inputs[2:])
    stacks: list[list[str]] = [[] for _ in body.outputs[1 + len(carried) :]]
    for turn in range(trips):
        if not going:
            break
        _require_modest(body, turn)
        step, flag = f"{node.name}/{turn}/iteration", f"{node.name}/{turn}/condition"
        constants = [constant_node(draft.fresh(step), np.array(turn, np.int64))]
        constants.append(constant_node(draft.fresh(flag), np.array(True)))
        inputs = (constants[0].outputs[0], constants[1].outputs[0], *carried)
        outputs = [draft.fresh(f"{node.name}/{turn}/{value}") for value in body.outputs]
        yield constants + inline(body, f"{node.name}/{turn}", inputs, outputs, draft.fresh)
        going = _still_going(outputs[0], turn, draft)
        carried = outputs[1 : 1 + len(carried)]
        _push(stacks, outputs[1 + len(carried) :])
    yield _results(node, carried, [(stack, 0) for stack in stacks], draft)


def _still_going(value: str, turn: int, draft: GraphDraft) -> bool:
    condition = draft.constants.get(value)
    if condition is None:
        raise RefusalError(f"whether it goes on after {turn + 1} iterations depends on data", value)
    return bool(condition.item())


def _scan(node: RawNode, draft: GraphDraft) -> Iterator[list[RawNode]]:
    if node.version < 9:
        raise RefusalError(f"opset {node.version}; its meaning since opset 9 only")
    body = _body(node, "body")
    count = int_attr(node, "num_scan_inputs", 0)
    states, scanned = list(node.inputs[: -count or None]), node.inputs[-count:] if count else ()
    ranks = [draft.context.type(value).rank for value in scanned]
    axes = [
        axis_in_range(a, r)
        for a, r in zip(_listed(node, "scan_input_axes", count), ranks, strict=True)
    ]
    backwards = _listed(node, "scan_input_directions", count)
    made = len(body.outputs) - len(states)
    lengths = {draft.context.type(v).shape[a] for v, a in zip(scanned, axes, strict=True)}
    if len(lengths) != 1:
        raise ModelError(f"its inputs are not scanned in equal steps: {sorted(lengths)}")
    (length,) = lengths
    stacks: list[list[str]] = [[] for _ in range(made)]
    for turn in range(length):
        _require_modest(body, turn)
        slices = []
        nodes: list[RawNode] = []
        for value, axis, back in zip(scanned, axes, backwards, strict=True):
            place = length - 1 - turn if back else turn
            index = draft.fresh(f"{node.name}/{turn}/index")
            slices.append(draft.fresh(f"{node.name}/{turn}/{value}"))
            nodes.append(constant_node(index, np.array(place, np.int64)))
            nodes.append(_node("Gather", (value, index), slices[-1], axis=axis))
        outputs = [draft.fresh(f"{node.name}/{turn}/{value}") for value in body.outputs]
        inputs = (*states, *slices)
        yield nodes + inline(body, f"{node.name}/{turn}", inputs, outputs, draft.fresh)
        states = outputs[: len(states)]
        _push(stacks, outputs[len(states) :])
    for stack, back in zip(stacks, _listed(node, "scan_output_directions", made), strict=True):
        if back:
            stack.reverse()
    axes = list(_listed(node, "scan_output_axes", made))
    yield _results(node, states, list(zip(stacks, axes, strict=True)), draft)


def _results(
    node: RawNode,
    carried: Sequence[str],
    stacks: Sequence[tuple[list[str], int]],
    draft: GraphDraft,
) -> list[RawNode]:
    """Return nodes that make a loop's outputs: the last values, and those of all iterations."""
    wanted = [node.output(k) for k in range(len(carried) + len(stacks))]
    nodes = [
        identity_node(value, output)
        for value, output in zip(carried, wanted, strict=False)
        if output
    ]
    for output, (stack, axis) in zip(wanted[len(carried) :], stacks, strict=True):
        if not output:
            continue
        if not stack:
            raise RefusalError(f"the output {output!r} is empty: the loop makes no iteration")
        rows = [draft.fresh(f"{value}/row") for value in stack]
        nodes += [
            _node("Unsqueeze", (value,), row, _AXIS_AS_ATTRIBUTE, axes=(axis,))
            for value, row in zip(stack, rows, strict=True)
        ]
        nodes.append(_node("Concat", tuple(rows), output, axis=axis))
    return nodes


def _push(stacks: Sequence[list[str]], values: Sequence[str]) -> None:
    for stack, value in zip(stacks, values, strict=True):
        stack.append(value)


def _node(
    op: str, inputs: tuple[str, ...], output: str, version: int = 13, /, **attrs: object
) -> RawNode:
    return RawNode(output, op, "", version, inputs, (output,), attrs)


def _listed(node: RawNode, name: str, count: int) -> tuple[int, ...]:
    """Return a list of numbers, by default zeros."""
    return ints_attr(node, name) or (0,) * count


def _body(node: RawNode, name: str) -> RawGraph:
    body = node.attrs.get(name)
    if not isinstance(body, RawGraph):
        raise ModelError(f"attribute {name!r} is missing")
    return body


def _require_modest(body: RawGraph, turns: int) -> None:
    if (turns + 1) * max(len(body.nodes), 1) > MOST_NODES:
        raise RefusalError(f"{turns + 1} iterations and more; too many to unroll")


_UNFOLDINGS: dict[str, Unfolding] = {"If": _if, "Loop": _loop, "Scan": _scan}
