"""Rewriting the nodes of a model before AGO knows what they mean: order, dead code, inlining.

Read `inline` first. Invariant: a rewrite keeps what is computed, and every value keeps one
definition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ago.errors import ModelError
from ago.frontend.raw import RawGraph, RawNode

Fresh = Callable[[str], str]
"""Returns a name for a value like the one given that no other value has."""

LATEST = 2**31 - 1
"""An opset version that reads as the newest meaning of an operator."""


def check_order(nodes: Iterable[RawNode], known: Collection[str]) -> set[str]:
    """Return the names of all values, after checking that each is defined once, and before use.

    Args:
        nodes: The nodes in order.
        known: Names of the values that are there before.

    Raises:
        ModelError: If a value is read too early or defined twice.
    """
    defined = set(known)
    for node in nodes:
        for value in node.reads:
            if value not in defined:
                raise ModelError(f"node {node.name!r} ({node.op}) reads {value!r} too early")
        for value in node.outputs:
            if value in defined:
                raise ModelError(f"the value {value!r} is defined twice")
            if value:
                defined.add(value)
    return defined


def live_nodes(nodes: Sequence[RawNode], wanted: Iterable[str]) -> list[RawNode]:
    """Return the nodes that values depend on; their outputs that nothing reads become `""`.

    Args:
        nodes: The nodes in order.
        wanted: The values.
    """
    read = set(wanted)
    kept = []
    for node in reversed(nodes):
        outputs = tuple(value if value in read else "" for value in node.outputs)
        if any(outputs):
            kept.append(replace(node, outputs=outputs))
            read.update(node.reads)
    return kept[::-1]


def inline(
    body: RawGraph, caller: str, inputs: Sequence[str], outputs: Sequence[str], fresh: Fresh
) -> list[RawNode]:
    """Return the nodes of a body, with the values of its caller in place of its own.

    Args:
        body: The body of a branch, loop or function.
        caller: Name of the node that it belongs to; its nodes and values are named after it.
        inputs: Values for its formal inputs; missing ones and `""` are absent.
        outputs: Names for its outputs; missing ones and `""` are unused.
        fresh: Makes names.
    """
    absent = [""] * (len(body.inputs) - len(inputs))
    names = dict(zip(body.inputs, (*inputs, *absent), strict=False))
    result = []
    for name, array in body.weights.items():
        names[name] = fresh(f"{caller}/{name}")
        result.append(constant_node(names[name], array))
    made = {value for node in body.nodes for value in node.outputs if value}
    copies = []
    for inner, outer in zip(body.outputs, outputs, strict=False):
        if outer and inner in made and inner not in names:
            names[inner] = outer
        elif outer:
            copies.append((inner, outer))
    for value in sorted(made - names.keys()):
        names[value] = fresh(f"{caller}/{value}")
    result += [_renamed(node, names, f"{caller}/{node.name}") for node in body.nodes]
    result += [identity_node(names.get(inner, inner), outer) for inner, outer in copies]
    return live_nodes(result, [value for value in outputs if value])


def constant_node(value: str, data: object) -> RawNode:
    """Return a node that makes a constant from an array."""
    return RawNode(value, "Constant", "", LATEST, (), (value,), {"value": data})


def identity_node(source: str, value: str) -> RawNode:
    """Return a node that gives a value another name."""
    return RawNode(value, "Identity", "", LATEST, (source,), (value,), {})


def _renamed(node: RawNode, names: Mapping[str, str], name: str) -> RawNode:
    return replace(
        node,
        name=name,
        inputs=tuple(names.get(value, value) for value in node.inputs),
        outputs=tuple(names.get(value, value) for value in node.outputs),
        attrs={key: _renamed_captures(value, names) for key, value in node.attrs.items()},
    )


def _renamed_captures(value: object, names: Mapping[str, str]) -> object:
    """Return an attribute; a graph gets new names for what it captures."""
    if not isinstance(value, RawGraph):
        return value
    captured = {inner: names[inner] for inner in value.captures if inner in names}
    return replace(
        value,
        nodes=tuple(_renamed(node, captured, node.name) for node in value.nodes),
        outputs=tuple(captured.get(output, output) for output in value.outputs),
    )
