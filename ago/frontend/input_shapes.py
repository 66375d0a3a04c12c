"""Fixing the shapes of a model's inputs.

Read `input_types` first. Invariant: afterwards every extent is a positive number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ago.errors import InputError, ModelError
from ago.frontend.raw import RawInput, RawModel
from ago.ir.graph import TensorType


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
    _refuse_unknown(model, dims, shapes)
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


def _refuse_unknown(
    model: RawModel, dims: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> None:
    names = {entry.name for entry in model.inputs}
    symbols = {dim for entry in model.inputs for dim in entry.dims or () if isinstance(dim, str)}
    for what, given, known in (("shapes", set(shapes), names), ("dims", set(dims), symbols)):
        if given - known:
            listed = ", ".join(sorted(known)) or "none"
            unknown = ", ".join(sorted(given - known))
            raise InputError(f"{what} names {unknown}, but the model has: {listed}")
    for name, extent in dims.items():
        if extent < 1:
            raise InputError(f"dims[{name!r}] must be positive, not {extent}")


def _overriding_shape(entry: RawInput, shape: Sequence[int]) -> tuple[int, ...]:
    extents = tuple(int(extent) for extent in shape)
    if entry.dims is not None and len(extents) != len(entry.dims):
        raise InputError(f"input {entry.name!r} has {len(entry.dims)} axes, not {len(extents)}")
    if min(extents, default=1) < 1:
        raise InputError(f"input {entry.name!r}: extents of {extents} must be positive")
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
        elif extent < 1:
            problems.append(f"input {entry.name!r}: axis {axis} is empty")
        extents.append(extent or 1)
    return tuple(extents)


def _open_dimension(entry: RawInput, axis: int) -> str:
    dim = (entry.dims or ())[axis]
    if isinstance(dim, str):
        return f"input {entry.name!r}: dimension {dim!r} is open; give dims={{{dim!r}: 1}}"
    shape = ", ".join("1" if d is None else str(d) for d in entry.dims or ())
    hint = f"shapes={{{entry.name!r}: ({shape})}}"
    return f"input {entry.name!r}: axis {axis} is open and has no name; give {hint}"
