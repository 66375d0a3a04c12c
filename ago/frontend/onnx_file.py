"""Reading ONNX files into plain Python values.

Read `read_model` first. Invariant: onnx is imported only when a model is read, and no version
number alone is a reason to refuse one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ago.errors import InputError, ModelError
from ago.frontend.onnx_functions import local_functions
from ago.frontend.onnx_nodes import Scope, opset_versions, read_nodes, read_weights
from ago.frontend.onnx_tensors import element_type
from ago.frontend.raw import RawInput, RawModel
from ago.ir.graph import TensorType

if TYPE_CHECKING:
    import onnx

_MOST_SHAPE_ELEMENTS = 64
"""Elements of the largest weight that may be a shape."""


def read_model(source: str | os.PathLike[str] | onnx.ModelProto) -> RawModel:
    """Read an ONNX file or a loaded model.

    A file's model is called as the file: exporters call the graphs of all models alike.

    Args:
        source: Path of an ONNX file, or a model in memory.

    Raises:
        ModelError: If the file is missing, truncated or not ONNX, or its external data is missing
            or lies outside the file's folder.
        InputError: If `source` is neither a path nor a model.
    """
    folder: Path | None = None
    name = ""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        folder, name = path.parent, path.stem
        model = _parse(path)
        where = str(path)
    else:
        model = source
        where = "the model"
    _require_model(model)
    _require_graph(model, where)
    graph = model.graph
    weights = read_weights(graph.initializer, graph.sparse_initializer, folder)
    scope = Scope(opset_versions(model.opset_import), folder)
    return RawModel(
        name=name or graph.name or "model",
        inputs=tuple(_read_input(info) for info in graph.input if info.name not in weights),
        outputs=tuple(info.name for info in graph.output),
        nodes=read_nodes(graph.node, scope),
        weights=weights,
        functions=local_functions(model.functions),
        infer_types=lambda inputs: _infer_types(model, inputs),
    )


def _parse(path: Path) -> onnx.ModelProto:
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model: onnx.ModelProto = onnx.ModelProto.FromString(path.read_bytes())
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    except DecodeError:
        raise ModelError(f"{path}: truncated, or not an ONNX file") from None
    return model


def _require_model(model: object) -> None:
    import onnx

    if not isinstance(model, onnx.ModelProto):
        kind = type(model).__name__
        raise InputError(f"a model is a path or an onnx ModelProto, not an object of type {kind}")


def _require_graph(model: onnx.ModelProto, where: str) -> None:
    if not model.HasField("graph") or not model.graph.output:
        raise ModelError(f"{where}: truncated, or not an ONNX file: it holds no graph with outputs")
    if not model.opset_import and model.ir_version >= 3:
        raise ModelError(f"{where}: truncated, or not an ONNX file: it names no operator set")


def _read_input(info: onnx.ValueInfoProto) -> RawInput:
    tensor = info.type.tensor_type
    dims = [_read_dim(dim) for dim in tensor.shape.dim]
    known = tensor.HasField("shape")
    return RawInput(info.name, element_type(tensor.elem_type), tuple(dims) if known else None)


def _read_dim(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    if dim.HasField("dim_param") and dim.dim_param:
        return str(dim.dim_param)
    # Some exporters write -1 for a dimension that they leave open.
    return dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None


def _infer_types(model: onnx.ModelProto, inputs: Mapping[str, TensorType]) -> dict[str, TensorType]:
    """Return the types that onnx can infer from the types of the inputs."""
    import onnx

    fixed = _without_weights(model)
    for info in fixed.graph.input:
        if info.name in inputs:
            shape = info.type.tensor_type.shape
            del shape.dim[:]
            shape.dim.extend(
                onnx.TensorShapeProto.Dimension(dim_value=n) for n in inputs[info.name].shape
            )
    try:
        inferred = onnx.shape_inference.infer_shapes(fixed, data_prop=True)
    except (onnx.shape_inference.InferenceError, ValueError):
        return {}
    types = {}
    for info in (*inferred.graph.value_info, *inferred.graph.output):
        kind = _closed_type(_read_input(info))
        if kind is not None:
            types[info.name] = kind
    return types


def _without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model with only the types of its large weights, so that it is small."""
    import onnx

    slim = onnx.ModelProto(ir_version=model.ir_version, functions=model.functions)
    slim.opset_import.extend(model.opset_import)
    slim.graph.name = model.graph.name
    slim.graph.node.extend(model.graph.node)
    slim.graph.input.extend(model.graph.input)
    slim.graph.output.extend(model.graph.output)
    for tensor in model.graph.initializer:
        if math.prod(tensor.dims) <= _MOST_SHAPE_ELEMENTS:
            slim.graph.initializer.append(tensor)
        else:
            kind = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            slim.graph.value_info.append(kind)
    return slim


def _closed_type(raw: RawInput) -> TensorType | None:
    """Return the type of a value whose extents are all known, else None."""
    extents = tuple(extent for extent in raw.dims or () if isinstance(extent, int))
    if raw.dims is None or len(extents) < len(raw.dims):
        return None
    try:
        return TensorType(extents, raw.dtype)
    except ValueError:
        return None
