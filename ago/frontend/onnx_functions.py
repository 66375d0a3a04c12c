"""Operators that ONNX itself, or a model, defines in terms of others.

Read `function_body` first. Invariant: a body has its caller's attributes, or the function's
defaults, in place of references to them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ago.frontend.onnx_nodes import (
    Scope,
    opset_versions,
    plain_domain,
    read_attributes,
    read_nodes,
    to_proto,
)
from ago.frontend.raw import LocalFunction, RawGraph, RawNode
from ago.ir.graph import TensorType
from ago.ir.tensor import numpy_dtype

if TYPE_CHECKING:
    import onnx


def function_body(node: RawNode, types: Sequence[TensorType | None]) -> RawGraph | None:
    """Return what a node does in terms of other operators.

    Args:
        node: The node.
        types: Types of its inputs; None where absent.

    Returns:
        The body; None if onnx defines the operator in words only.
    """
    found = _find_function(node, types)
    if found is None:
        return None
    function, defaults = found
    return _read(function, {**defaults, **node.attrs})


def local_functions(
    functions: Iterable[onnx.FunctionProto],
) -> dict[tuple[str, str], LocalFunction]:
    """Return what the nodes of a model do that call its own functions.

    Args:
        functions: The model's functions.

    Returns:
        By domain and name, what gives a caller's body.
    """
    return {(plain_domain(f.domain), f.name): functools.partial(_local_body, f) for f in functions}


def _local_body(function: onnx.FunctionProto, node: RawNode) -> RawGraph:
    defaults = read_attributes(function.attribute_proto, Scope({}))
    return _read(function, {**defaults, **node.attrs})


def _read(function: onnx.FunctionProto, caller: Mapping[str, object]) -> RawGraph:
    """Return a function's body with the caller's attributes."""
    scope = Scope(opset_versions(function.opset_import), None, caller)
    return RawGraph(
        inputs=tuple(function.input),
        outputs=tuple(function.output),
        nodes=read_nodes(function.node, scope),
        weights={},
    )


def _find_function(
    node: RawNode, types: Sequence[TensorType | None]
) -> tuple[onnx.FunctionProto, dict[str, object]] | None:
    """Return the body that fits a node's opset version, and defaults of its attributes."""
    import onnx

    try:
        schema: Any = onnx.defs.get_schema(node.op, node.version, node.domain)
    except onnx.defs.SchemaError:
        return None
    if schema.has_context_dependent_function:
        version = _newest(schema.context_dependent_function_opset_versions, node.version)
        content = schema.get_context_dependent_function_with_opset_version(
            version, to_proto(node).SerializeToString(), [_type_bytes(kind) for kind in types]
        )
    elif schema.has_function:
        version = _newest(schema.function_opset_versions, node.version)
        content = schema.get_function_with_opset_version(version)
    else:
        return None
    if not content:
        return None
    function = onnx.FunctionProto.FromString(content)
    if (node.domain, node.op) == ("", "AffineGrid"):
        _squeeze_rows_only(function.node)
    stated = [a.default_value for a in schema.attributes.values() if a.default_value.name]
    defaults = read_attributes([*stated, *function.attribute_proto], Scope({}))
    return function, defaults


def _squeeze_rows_only(nodes: Iterable[onnx.NodeProto]) -> None:
    """Let `AffineGrid` drop the axis of a matrix's row alone.

    ONNX's body names no axes, and so drops the batch as well where it is 1. The body's constant
    `one_1d` is the axis that is meant.
    """
    for node in nodes:
        if node.op_type == "Squeeze" and len(node.input) == 1:
            node.input.append("one_1d")
        for attribute in node.attribute:
            _squeeze_rows_only(attribute.g.node)


def _newest(versions: Sequence[int], wanted: int) -> int:
    """Return the newest version up to the wanted one, or the oldest of all."""
    return max((v for v in versions if v <= wanted), default=min(versions))


def _type_bytes(kind: TensorType | None) -> bytes:
    import onnx

    if kind is None:
        return bytes(onnx.TypeProto().SerializeToString())
    element = onnx.helper.np_dtype_to_tensor_dtype(numpy_dtype(kind.dtype))
    return bytes(onnx.helper.make_tensor_type_proto(element, kind.shape).SerializeToString())
