"""ONNX's nodes, attributes and graphs as plain Python values, and nodes back again.

Read `read_nodes` first. Invariant: names of nodes are unique within a graph, and an attribute that
stands for one of the caller is replaced by the caller's value.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ago.errors import ModelError
from ago.frontend.onnx_tensors import to_array
from ago.frontend.raw import AnyArray, RawGraph, RawNode

if TYPE_CHECKING:
    import onnx


@dataclass(frozen=True, slots=True)
class Scope:
    """What reading a node needs to know of the model around it.

    Attributes:
        versions: Opset versions by domain; ONNX's own is `""`.
        folder: The model's folder, for external data; None if it has none.
        caller: Attributes of the function's caller, for attributes that refer to them.
    """

    versions: Mapping[str, int]
    folder: Path | None = None
    caller: Mapping[str, object] = field(default_factory=dict)


def opset_versions(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """Return the version of each domain that a model or function imports."""
    return {plain_domain(entry.domain): entry.version for entry in imports}


def plain_domain(domain: str) -> str:
    """Return a domain's name; ONNX's own, which has two, is `""`."""
    return "" if domain == "ai.onnx" else domain


def read_nodes(nodes: Iterable[onnx.NodeProto], scope: Scope) -> tuple[RawNode, ...]:
    """Return nodes as plain values.

    Raises:
        ModelError: If a tensor among the attributes is damaged, missing, or outside the folder.
    """
    taken: Counter[str] = Counter()
    result = []
    for node in nodes:
        stem = node.name or next((value for value in node.output if value), node.op_type)
        name = stem
        while taken[name]:
            name = f"{stem}_{taken[stem]}"
            taken[stem] += 1
        taken[name] += 1
        domain = plain_domain(node.domain)
        attrs = read_attributes(node.attribute, scope)
        version = scope.versions.get(domain, 1)
        inputs, outputs = tuple(node.input), tuple(node.output)
        result.append(RawNode(name, node.op_type, domain, version, inputs, outputs, attrs))
    return tuple(result)


def read_weights(
    tensors: Iterable[onnx.TensorProto],
    sparse: Sequence[onnx.SparseTensorProto],
    folder: Path | None,
) -> dict[str, AnyArray]:
    """Return a graph's constants by name; sparse ones are filled with zeros.

    Raises:
        ModelError: If one is damaged, missing, or outside the folder.
    """
    weights = {tensor.name: to_array(tensor, folder) for tensor in tensors}
    weights.update((tensor.values.name, _dense(tensor, folder)) for tensor in sparse)
    return weights


def to_proto(node: RawNode) -> onnx.NodeProto:
    """Return a node without graphs among its attributes as onnx has it."""
    import onnx

    proto = onnx.NodeProto(
        op_type=node.op, domain=node.domain, name=node.name, input=node.inputs, output=node.outputs
    )
    known = _attribute_types(node.op, node.version, node.domain) or {}
    for name, value in node.attrs.items():
        if isinstance(value, np.ndarray):
            value = onnx.numpy_helper.from_array(value, name)
        kind = None if value != () else known.get(name, onnx.AttributeProto.INTS)
        proto.attribute.append(onnx.helper.make_attribute(name, value, attr_type=kind))
    return proto


def unknown_attributes(node: RawNode) -> list[str]:
    """Return the attributes of a node that its operator does not have in the node's version."""
    known = _attribute_types(node.op, node.version, node.domain)
    return [] if known is None else sorted(node.attrs.keys() - known.keys())


@functools.cache
def _attribute_types(op: str, version: int, domain: str) -> Mapping[str, int] | None:
    """Return the attributes that an operator has, and their types; None if onnx does not know."""
    import onnx

    try:
        schema: Any = onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return None
    return {name: int(attribute.type.value) for name, attribute in schema.attributes.items()}


def read_attributes(attributes: Iterable[onnx.AttributeProto], scope: Scope) -> dict[str, object]:
    """Return attributes as plain values; those that refer to the caller's only if it has them."""
    values = {}
    for attribute in attributes:
        if not attribute.ref_attr_name:
            values[attribute.name] = _read_attribute(attribute, scope)
        elif attribute.ref_attr_name in scope.caller:
            values[attribute.name] = scope.caller[attribute.ref_attr_name]
    return values


def _read_attribute(attribute: onnx.AttributeProto, scope: Scope) -> object:
    import onnx

    value: Any = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return to_array(value, scope.folder)
    if isinstance(value, onnx.SparseTensorProto):
        return _dense(value, scope.folder)
    if isinstance(value, onnx.GraphProto):
        return _read_graph(value, scope)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if attribute.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS):
        return tuple(value)
    if attribute.type == onnx.AttributeProto.STRINGS:
        return tuple(item.decode(errors="replace") for item in value)
    return value


def _read_graph(graph: onnx.GraphProto, scope: Scope) -> RawGraph:
    return RawGraph(
        inputs=tuple(info.name for info in graph.input),
        outputs=tuple(info.name for info in graph.output),
        nodes=read_nodes(graph.node, scope),
        weights=read_weights(graph.initializer, graph.sparse_initializer, scope.folder),
    )


def _dense(tensor: onnx.SparseTensorProto, folder: Path | None) -> AnyArray:
    """Return a sparse tensor with its zeros."""
    values, places = to_array(tensor.values, folder), to_array(tensor.indices, folder)
    dense = np.zeros(tuple(tensor.dims), values.dtype)
    try:
        if places.ndim == 2:
            dense[tuple(places.T)] = values
        else:
            dense.reshape(-1)[places] = values
    except (IndexError, ValueError) as error:
        message = f"sparse tensor {tensor.values.name!r} is damaged: {error}"
        raise ModelError(message) from error
    return dense
