"""Reading ONNX files into plain Python values.

Read `read_model` first. Invariant: the only module that touches onnx, which it imports when called;
it never follows a path out of the model's folder.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ago.errors import InputError, ModelError
from ago.frontend.raw import AnyArray, RawInput, RawModel, RawNode
from ago.ir.graph import TensorType
from ago.ir.tensor import dtype_name

if TYPE_CHECKING:
    import onnx


def read_model(source: str | os.PathLike[str] | onnx.ModelProto) -> RawModel:
    """Read an ONNX file or a loaded model.

    Args:
        source: Path of an ONNX file, or a model in memory.

    Raises:
        ModelError: If the file is missing, truncated or not ONNX, or its external data is missing
            or lies outside the file's folder.
        InputError: If `source` is neither a path nor a model.
    """
    folder: Path | None = None
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        folder = path.parent
        model = _parse(path)
        where = str(path)
    else:
        model = source
        where = "the model"
    _require_model(model)
    _require_graph(model, where)
    model = _inline_functions(model)
    graph = model.graph
    weights = {tensor.name: _to_array(tensor, folder) for tensor in graph.initializer}
    if graph.sparse_initializer:
        names = ", ".join(tensor.values.name for tensor in graph.sparse_initializer)
        raise ModelError(f"{where}: sparse initializers are not supported: {names}")
    versions = {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}
    return RawModel(
        name=graph.name or "model",
        inputs=tuple(_read_input(info) for info in graph.input if info.name not in weights),
        outputs=tuple(info.name for info in graph.output),
        nodes=_read_nodes(graph.node, versions, folder),
        weights=weights,
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


def _inline_functions(model: onnx.ModelProto) -> onnx.ModelProto:
    if not model.functions:
        return model
    from onnx import inliner

    inlined: onnx.ModelProto = inliner.inline_local_functions(model)
    return inlined


def _read_nodes(
    nodes: Iterable[onnx.NodeProto], versions: Mapping[str, int], folder: Path | None
) -> tuple[RawNode, ...]:
    taken: Counter[str] = Counter()
    result = []
    for node in nodes:
        stem = node.name or next((value for value in node.output if value), node.op_type)
        name = stem
        while taken[name]:
            name = f"{stem}_{taken[stem]}"
            taken[stem] += 1
        taken[name] += 1
        domain = "" if node.domain == "ai.onnx" else node.domain
        attrs = {attr.name: _read_attribute(attr, folder) for attr in node.attribute}
        version = versions.get(domain or "ai.onnx", 1)
        result.append(
            RawNode(
                name, node.op_type, domain, version, tuple(node.input), tuple(node.output), attrs
            )
        )
    return tuple(result)


def _read_attribute(attribute: onnx.AttributeProto, folder: Path | None) -> object:
    import onnx

    value: Any = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return _to_array(value, folder)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, str | int | float):
        return value
    if attribute.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS):
        return tuple(value)
    if attribute.type == onnx.AttributeProto.STRINGS:
        return tuple(item.decode(errors="replace") for item in value)
    return value


def _read_input(info: onnx.ValueInfoProto) -> RawInput:
    tensor = info.type.tensor_type
    dims = [_read_dim(dim) for dim in tensor.shape.dim]
    known = tensor.HasField("shape")
    return RawInput(info.name, _element_type(tensor.elem_type), tuple(dims) if known else None)


def _read_dim(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    if dim.HasField("dim_param") and dim.dim_param:
        return str(dim.dim_param)
    # Some exporters write -1 for a dimension that they leave open.
    return dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None


def _element_type(element: int) -> str:
    import onnx

    try:
        return dtype_name(onnx.helper.tensor_dtype_to_np_dtype(element))
    except (KeyError, ValueError):
        return str(onnx.TensorProto.DataType.Name(element)).lower()


def _to_array(tensor: onnx.TensorProto, folder: Path | None) -> AnyArray:
    import onnx

    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raw = _read_external(tensor, folder)
        tensor = onnx.TensorProto(
            name=tensor.name, dims=tensor.dims, data_type=tensor.data_type, raw_data=raw
        )
    try:
        array: AnyArray = onnx.numpy_helper.to_array(tensor)
    except (ValueError, TypeError) as error:
        raise ModelError(f"tensor {tensor.name!r} is damaged: {error}") from error
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _read_external(tensor: onnx.TensorProto, folder: Path | None) -> bytes:
    """Return the bytes of a tensor that lies in a file beside the model."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    what = f"external data {location!r} of the tensor {tensor.name!r}"
    if folder is None:
        raise ModelError(f"{what} cannot be found: load the model from its path")
    root = folder.resolve()
    if "\0" in location:
        raise ModelError(f"{what} is no path")
    path = (root / location).resolve()
    if not location or Path(location).is_absolute() or not path.is_relative_to(root):
        raise ModelError(f"{what} lies outside the model's folder {root}")
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", -1))
        with path.open("rb") as file:
            file.seek(offset)
            data: bytes = file.read(length)
    except (OSError, ValueError) as error:
        raise ModelError(f"{what} cannot be read: {error}") from error
    if 0 <= length != len(data):
        raise ModelError(f"{what} is truncated: {len(data)} of {length} bytes at {offset}")
    return data


def _infer_types(model: onnx.ModelProto, inputs: Mapping[str, TensorType]) -> dict[str, TensorType]:
    """Return the types that onnx can infer from the types of the inputs."""
    import onnx

    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    del fixed.graph.value_info[:]
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


def _closed_type(raw: RawInput) -> TensorType | None:
    """Return the type of a value whose extents are all known, else None."""
    extents = tuple(extent for extent in raw.dims or () if isinstance(extent, int))
    if raw.dims is None or len(extents) < len(raw.dims):
        return None
    try:
        return TensorType(extents, raw.dtype)
    except ValueError:
        return None
