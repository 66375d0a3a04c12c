"""Fixing the shapes of a model's inputs, and inputs to a value.

Read `input_types` first. Invariant: afterwards every extent is a number; 0 only where the file
itself says so.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ago.errors import InputError, ModelError
from ago.frontend.raw import AnyArray, RawInput, RawModel
from ago.ir.graph import TensorType
from ago.ir.tensor import numpy_dtype


def input_types(
    model: RawModel, dims: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> dict[str, TensorType]:
    """Return the type of each input, in the model's order.

    Args:
        model: The model.
        dims: Extents for symbolic dimensions by name.
        shapes: Shapes for inputs by name; they take the place of the file's.

    Raises:
        ModelError: If dimensions stay open; it names all of them.
        InputError: If `dims` or `shapes` name what the model does not have, or do not fit it.
    """
    _require_mapping("dims", dims)
    _require_mapping("shapes", shapes)
    _refuse_unknown("shapes", shapes, {entry.name for entry in model.inputs})
    symbols = {dim for entry in model.inputs for dim in entry.dims or () if isinstance(dim, str)}
    _refuse_unknown("dims", dims, symbols)
    dims = {name: _extent(f"dims[{name!r}]", extent) for name, extent in dims.items()}
    problems: list[str] = []
    types: dict[str, TensorType] = {}
    for entry in model.inputs:
        if entry.name in shapes:
            shape = _overriding_shape(entry, shapes[entry.name])
        else:
            shape = _closed_shape(entry, dims, problems)
        try:
            types[entry.name] = TensorType(shape, entry.dtype)
        except ValueError:
            problems.append(f"input {entry.name!r}: elements of type {entry.dtype}")
    if problems:
        raise ModelError("the inputs are not fixed:\n" + "\n".join(f"  {p}" for p in problems))
    return types


def replaced_extents(model: RawModel, types: Mapping[str, TensorType]) -> str:
    """Return the file's fixed shapes that `types` replace, for a message; empty if there are none.

    Args:
        model: The model.
        types: The types of its inputs, of `input_types`.
    """
    replaced = [
        f"input {entry.name!r} to {list(entry.dims or ())}"
        for entry in model.inputs
        if any(
            isinstance(before, int) and before != after
            for before, after in zip(entry.dims or (), types[entry.name].shape, strict=False)
        )
    ]
    return ", ".join(replaced)


def fix_inputs(model: RawModel, constants: Mapping[str, npt.ArrayLike]) -> RawModel:
    """Return a model some of whose inputs have become weights.

    Args:
        model: The model.
        constants: Values of inputs by name.

    Raises:
        InputError: If the model has no such input, or a value does not fit its type.
    """
    _require_mapping("constants", constants)
    entries = {entry.name: entry for entry in model.inputs}
    _refuse_unknown("constants", constants, set(entries))
    fixed = {name: _fitting(entries[name], value) for name, value in constants.items()}
    return replace(
        model,
        inputs=tuple(entry for entry in model.inputs if entry.name not in fixed),
        weights={**model.weights, **fixed},
    )


def _fitting(entry: RawInput, value: npt.ArrayLike) -> AnyArray:
    """Return an input's value as an array of its element type and shape."""
    what = f"constants[{entry.name!r}]"
    try:
        array = np.asarray(value).astype(numpy_dtype(entry.dtype), casting="same_kind")
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} does not fit elements of type {entry.dtype}: {error}") from error
    if array.size == 1 and entry.dims is not None:
        array = array.reshape((1,) * len(entry.dims))  # a number may stand for a list of one
    wanted = [n if isinstance(n, int) else -1 for n in entry.dims or ()]
    same_rank = len(wanted) == array.ndim
    if entry.dims is not None and not (
        same_rank and all(n in (-1, m) for n, m in zip(wanted, array.shape, strict=True))
    ):
        raise InputError(f"{what} has the shape {array.shape}, which does not fit {entry.dims}")
    return array


def _require_mapping(what: str, given: object) -> None:
    if not isinstance(given, Mapping):
        raise InputError(f"{what} must be a mapping from names, not {given!r}")


def _refuse_unknown(what: str, given: Mapping[str, object], known: set[str]) -> None:
    if given.keys() - known:
        listed = ", ".join(sorted(known)) or "none"
        unknown = ", ".join(sorted(map(str, given.keys() - known)))
        raise InputError(f"{what} names {unknown}, but the model has: {listed}")


def _extent(what: str, extent: object) -> int:
    """Return an extent given by the caller: a positive int of Python or of numpy."""
    if not isinstance(extent, numbers.Integral) or isinstance(extent, bool):
        raise InputError(f"{what} must be a whole number, not {extent!r}")
    number = int(extent)
    if number < 1:
        raise InputError(f"{what} must be positive, not {number}")
    return number


def _overriding_shape(entry: RawInput, shape: Sequence[int]) -> tuple[int, ...]:
    what = f"shapes[{entry.name!r}]"
    if not isinstance(shape, Iterable) or isinstance(shape, str):
        raise InputError(f"{what} must be a sequence of extents, not {shape!r}")
    extents = tuple(_extent(f"an extent of {what}", extent) for extent in shape)
    if entry.dims is not None and len(extents) != len(entry.dims):
        raise InputError(f"input {entry.name!r} has {len(entry.dims)} axes, not {len(extents)}")
    return extents


def _closed_shape(entry: RawInput, dims: Mapping[str, int], problems: list[str]) -> tuple[int, ...]:
    """Return the file's shape with `dims` put in, and note what stays open."""
    if entry.dims is None:
        hint = f"shapes={{{entry.name!r}: (...)}}"
        problems.append(f"input {entry.name!r}: its rank is open; give {hint}")
        return ()
    extents = []
    for axis, dim in enumerate(entry.dims):
        extent = dims.get(dim) if isinstance(dim, str) else dim
        if extent is None:
            problems.append(_open_dimension(entry, axis))
        extents.append(1 if extent is None else extent)
    return tuple(extents)


def _open_dimension(entry: RawInput, axis: int) -> str:
    dim = (entry.dims or ())[axis]
    if isinstance(dim, str):
        return f"input {entry.name!r}: dimension {dim!r} is open; give dims={{{dim!r}: 1}}"
    shape = ", ".join("1" if d is None else str(d) for d in entry.dims or ())
    hint = f"shapes={{{entry.name!r}: ({shape})}}"
    return f"input {entry.name!r}: axis {axis} is open and has no name; give {hint}"
