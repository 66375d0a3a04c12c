"""Small ONNX models for tests, and the oracles that run them."""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from ago.frontend import load
from ago.ir.evaluate import evaluate

onnxruntime.set_default_logger_severity(4)

Array = np.ndarray


def make_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Sequence[int | str | None]],
    outputs: Sequence[str],
    weights: Mapping[str, Array] | None = None,
    opset: int = 21,
    dtypes: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """Return a model; inputs and outputs are float32 unless `dtypes` says otherwise."""
    dtypes = dtypes or {}
    graph = helper.make_graph(
        nodes,
        "net",
        [
            helper.make_tensor_value_info(name, dtypes.get(name, onnx.TensorProto.FLOAT), shape)
            for name, shape in inputs.items()
        ],
        [
            helper.make_tensor_value_info(name, dtypes.get(name, onnx.TensorProto.FLOAT), None)
            for name in outputs
        ],
        [numpy_helper.from_array(np.asarray(w), name) for name, w in (weights or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    return model


def one_node(
    op: str,
    inputs: Sequence[Array | None],
    constants: Sequence[Array | None] = (),
    opset: int = 21,
    outputs: Sequence[str] = ("y",),
    **attrs: object,
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Return a model of one node reading `inputs` and then `constants`, and its feeds."""
    names = [f"x{k}" if a is not None else "" for k, a in enumerate(inputs)]
    more = [f"c{k}" if a is not None else "" for k, a in enumerate(constants)]
    feeds = {n: a for n, a in zip(names, inputs, strict=True) if a is not None}
    weights = {n: a for n, a in zip(more, constants, strict=True) if a is not None}
    node = helper.make_node(op, names + more, list(outputs), name="node", **attrs)
    shapes = {name: array.shape for name, array in feeds.items()}
    dtypes = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in feeds.items()}
    open_ended = make_model([node], shapes, [], weights, opset, dtypes)
    for value in onnx.shape_inference.infer_shapes(open_ended).graph.value_info:
        dtypes[value.name] = value.type.tensor_type.elem_type
    return make_model([node], shapes, ["y"], weights, opset, dtypes), feeds


def run_ago(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Array:
    """Import the model and evaluate its first output in float64."""
    graph = load(model)
    return evaluate(graph, feeds)[graph.outputs[0]]


def run_reference(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Array:
    """Run onnx's reference implementation."""
    return ReferenceEvaluator(model).run(None, dict(feeds))[0]


def run_onnxruntime(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Array:
    """Run ONNX Runtime without its graph optimisations, on one thread."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, dict(feeds))[0]


def integers(shape: Sequence[int], seed: int = 0, limit: int = 4) -> Array:
    """Return float32 numbers that are small integers, so that sums of products are exact."""
    return np.random.default_rng(seed).integers(-limit, limit + 1, shape).astype(np.float32)
