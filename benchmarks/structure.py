"""The structure of an ONNX file as a dependency graph, whether AGO compiles its operators or not.

Read `read_structure` first. It stands for the graph after all passes: batch norm is folded into the
convolution before it, and what depends on constants and shapes alone is gone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import onnx

from ago.cost_model.linear import NestFeatures, shipped_operator_weight
from ago.ir.ops import Kind
from ago.partition import DependencyGraph, Edge, Vertex

_MOVEMENT = {
    "Concat", "ConstantOfShape", "Expand", "Flatten", "Gather", "GatherElements", "Identity",
    "Pad", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze",
}  # fmt: skip
_COMPLEX = {"Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul"}
_REDUCTIONS = {
    "AveragePool", "GlobalAveragePool", "LayerNormalization", "MaxPool", "ReduceMax", "ReduceMean",
    "ReduceSum", "Softmax",
}  # fmt: skip

Shapes = Mapping[str, tuple[int, ...]]


def read_structure(path: str) -> DependencyGraph:
    """Read an ONNX file's operators, tensors and weights.

    Args:
        path: The file; its shapes are static.
    """
    model = onnx.load(path)
    shapes = _shapes(model)
    constants = {tensor.name for tensor in model.graph.initializer}
    makers: dict[str, int] = {}
    vertices: list[Vertex] = []
    edges: list[Edge] = []
    for node in model.graph.node:
        if node.op_type == "Shape" or all(name in constants for name in node.input if name):
            constants.update(node.output)
            continue
        if _is_folded(node, vertices, makers):
            makers[node.output[0]] = makers[node.input[0]]
            continue
        number = len(vertices)
        edges += [
            Edge(makers[name], number, name, _nbytes(shapes[name]))
            for name in dict.fromkeys(node.input)
            if name in makers
        ]
        vertices.append(_vertex(node, shapes, number))
        makers.update((name, number) for name in node.output)
    outputs = frozenset(value.name for value in model.graph.output)
    return DependencyGraph(tuple(vertices), tuple(edges), outputs)


def _is_folded(node: onnx.NodeProto, vertices: list[Vertex], makers: Mapping[str, int]) -> bool:
    if node.op_type != "BatchNormalization" or node.input[0] not in makers:
        return False
    return vertices[makers[node.input[0]]].op == "Conv"


def _vertex(node: onnx.NodeProto, shapes: Shapes, number: int) -> Vertex:
    kind = _kind(node.op_type)
    written = sum(_nbytes(shapes[name]) for name in node.output if name in shapes)
    read = sum(_nbytes(shapes[name]) for name in dict.fromkeys(node.input) if name in shapes)
    spatial = max(math.prod(shapes[node.output[0]]), 1)
    features = NestFeatures.from_sizes(kind, spatial, _reduction(node, shapes), read, written)
    name = node.name or f"{node.op_type}_{number}"
    weight = shipped_operator_weight()(features)
    return Vertex(name, node.op_type, kind, weight, _nbytes(shapes[node.output[0]]))


def _kind(op: str) -> Kind:
    if op in _MOVEMENT:
        return "movement"
    if op in _COMPLEX:
        return "complex"
    return "reduction" if op in _REDUCTIONS else "elementwise"


def _reduction(node: onnx.NodeProto, shapes: Shapes) -> int:
    """Iterations of the reduction loops for each element of the result."""
    first, out = shapes[node.input[0]], shapes[node.output[0]]
    if node.op_type == "Conv":
        return math.prod(shapes[node.input[1]][1:])
    if node.op_type in ("Gemm", "MatMul"):
        return first[-1]
    if node.op_type in ("MaxPool", "AveragePool"):
        kernel = next(a for a in node.attribute if a.name == "kernel_shape")
        return math.prod(onnx.helper.get_attribute_value(kernel))
    if node.op_type in ("LayerNormalization", "Softmax"):
        return first[-1]
    if _kind(node.op_type) == "reduction":
        return max(math.prod(first) // max(math.prod(out), 1), 1)
    return 1


def _nbytes(shape: tuple[int, ...]) -> int:
    return 4 * math.prod(shape)


def _shapes(model: onnx.ModelProto) -> dict[str, tuple[int, ...]]:
    """Shapes of all tensors, found by running the model once with every tensor as an output."""
    import onnxruntime

    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    known = {value.name for value in probe.graph.output}
    names = [name for node in probe.graph.node for name in node.output if name]
    probe.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names if n not in known)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        probe.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    feeds = {
        value.name: np.zeros(
            [d.dim_value for d in value.type.tensor_type.shape.dim],
            onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type),
        )
        for value in model.graph.input
    }
    found = [o.name for o in session.get_outputs()]
    shapes = {n: np.shape(a) for n, a in zip(found, session.run(found, feeds), strict=True)}
    shapes.update((t.name, tuple(t.dims)) for t in model.graph.initializer)
    shapes.update((name, array.shape) for name, array in feeds.items())
    return shapes
