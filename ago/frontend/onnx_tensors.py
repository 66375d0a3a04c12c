"""ONNX's tensors as numpy arrays, with their data in the model or in files beside it.

Read `to_array` first. Invariant: no path leads out of the model's folder, and data outside the
model never passes through a protobuf message, whose size is limited to 2 GB.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ago.errors import ModelError
from ago.frontend.raw import AnyArray
from ago.ir.tensor import dtype_name

if TYPE_CHECKING:
    import onnx


def to_array(tensor: onnx.TensorProto, folder: Path | None) -> AnyArray:
    """Return a tensor's elements.

    Args:
        tensor: The tensor.
        folder: The model's folder; None if the model has none.

    Raises:
        ModelError: If the data is damaged, missing, or outside the folder.
    """
    import onnx

    try:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            return _from_bytes(tensor, _read_external(tensor, folder))
        return _native(onnx.numpy_helper.to_array(tensor))
    except (ValueError, TypeError) as error:
        raise ModelError(f"tensor {tensor.name!r} is damaged: {error}") from error


def element_type(element: int) -> str:
    """Return the short name of one of ONNX's element types, or ONNX's own where there is none."""
    import onnx

    try:
        return dtype_name(onnx.helper.tensor_dtype_to_np_dtype(element))
    except (KeyError, ValueError):
        return str(onnx.TensorProto.DataType.Name(element)).lower()


def _native(array: AnyArray) -> AnyArray:
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _from_bytes(tensor: onnx.TensorProto, data: AnyArray) -> AnyArray:
    """Return the elements of a tensor whose little-endian bytes were read."""
    import onnx

    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
    if dtype.isbuiltin == 1:
        return _native(data.view(dtype.newbyteorder("<")).reshape(tuple(tensor.dims)))
    packed = onnx.TensorProto(
        name=tensor.name, dims=tensor.dims, data_type=tensor.data_type, raw_data=data.tobytes()
    )
    return onnx.numpy_helper.to_array(packed)


def _read_external(tensor: onnx.TensorProto, folder: Path | None) -> AnyArray:
    """Return the bytes of a tensor that lies in a file beside the model."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    what = f"external data {location!r} of the tensor {tensor.name!r}"
    if folder is None:
        raise ModelError(f"{what} cannot be found: load the model from its path")
    path = _inside(folder.resolve(), location, what)
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", -1))
        with path.open("rb") as file:
            file.seek(offset)
            data = np.fromfile(file, np.uint8, length)
    except (OSError, ValueError) as error:
        raise ModelError(f"{what} cannot be read: {error}") from error
    if 0 <= length != data.size:
        raise ModelError(f"{what} is truncated: {data.size} of {length} bytes at {offset}")
    return data


def _inside(root: Path, location: str, what: str) -> Path:
    """Return the path of a location, which must lie in the folder `root`."""
    if "\0" in location:
        raise ModelError(f"{what} is no path")
    path = (root / location).resolve()
    if not location or Path(location).is_absolute() or not path.is_relative_to(root):
        raise ModelError(f"{what} lies outside the model's folder {root}")
    return path
