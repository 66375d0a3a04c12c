"""Makes packed constants from model parameters, at compile time.

Read `pack_array` first. It evaluates a `Packing` with numpy over all elements at once; interpreter
and code generator share it, so both see the same constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ago.errors import InputError, IRError
from ago.ir.index import FloorDiv, Index, Lookup, Max, Min, Mod, Var
from ago.ir.program import Program

Array: TypeAlias = npt.NDArray[Any]
Integers: TypeAlias = npt.NDArray[np.int64]


def pack_array(program: Program, buffer_name: str, params: Mapping[str, Array]) -> Array:
    """The contents of a constant buffer, packed by its recipe if it has one.

    Args:
        program: Where the buffer and those it gathers from are declared.
        buffer_name: A constant buffer.
        params: Model parameters by the name of their unpacked constant buffer.

    Returns:
        An array of the buffer's shape, of the source's dtype, C-contiguous if it was packed; zero
        where the recipe's condition does not hold.

    Raises:
        InputError: A parameter is missing or has the wrong shape.
        IRError: `wrong-rank` if the recipe's loops or index do not fit the shapes; `out-of-bounds`
            if it gathers from outside its source.
    """
    buffer = program.buffer(buffer_name)
    recipe = buffer.packing
    if recipe is None:
        return _parameter(buffer_name, buffer.shape, params)
    source = pack_array(program, recipe.source, params)
    if len(recipe.loops) != len(buffer.shape) or len(recipe.index) != source.ndim:
        raise IRError("wrong-rank", f"packing of {buffer_name} does not fit the shapes")
    axes = _axes(recipe.loops, buffer.shape)
    inside = np.ones((1,) * len(buffer.shape), bool)
    for guard in recipe.condition:
        inside = inside & (_evaluate(guard, axes) >= 0)
    offset: Integers = np.zeros((1,) * len(buffer.shape), np.int64)
    for index, extent in zip(recipe.index, source.shape, strict=True):
        position = _evaluate(index, axes)
        clipped = np.clip(position, 0, max(extent - 1, 0))
        if np.any(inside & (position != clipped)):
            raise IRError(
                "out-of-bounds",
                f"packing of {buffer_name} reads {recipe.source} at {index}, outside {extent}",
            )
        offset = offset * extent + clipped
    gathered = np.ascontiguousarray(source).reshape(-1).take(np.broadcast_to(offset, buffer.shape))
    return gathered if inside.all() else np.where(inside, gathered, gathered.dtype.type(0))


def _parameter(name: str, shape: tuple[int, ...], params: Mapping[str, Array]) -> Array:
    if name not in params:
        raise InputError(f"no array was given for constant {name}")
    if params[name].shape != shape:
        raise InputError(f"constant {name} has shape {params[name].shape}, expected {shape}")
    return params[name]


def _axes(loops: tuple[str, ...], shape: tuple[int, ...]) -> dict[str, Integers]:
    """Each loop's values, shaped to vary along its own dimension only."""
    rank = len(shape)
    return {
        loop: np.arange(extent).reshape([extent if d == axis else 1 for d in range(rank)])
        for axis, (loop, extent) in enumerate(zip(loops, shape, strict=True))
    }


def _evaluate(index: Index, axes: Mapping[str, Integers]) -> Integers:
    """`index` over whole axes; its shape broadcasts to that of the packed array."""
    rank = max((values.ndim for values in axes.values()), default=0)
    total: Integers = np.full((1,) * rank, index.const, np.int64)
    for atom, coefficient in index.terms:
        match atom:
            case Var(name):
                if name not in axes:
                    raise IRError("unbound-variable", f"packing index {index} uses {name}")
                values = axes[name]
            case Min(a, b):
                values = np.minimum(_evaluate(a, axes), _evaluate(b, axes))
            case Max(a, b):
                values = np.maximum(_evaluate(a, axes), _evaluate(b, axes))
            case FloorDiv(value, divisor):
                values = _evaluate(value, axes) // divisor
            case Mod(value, divisor):
                values = _evaluate(value, axes) % divisor
            case Lookup(table, place):
                values = np.array(table.entries, np.int64)[_evaluate(place, axes)]
        total = total + coefficient * values
    return total
