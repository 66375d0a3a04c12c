"""PyTorch's element-wise operators, reductions and data movement in ONNX's terms.

Read `TENSORS` first: from the name of an ATen operator to its handler.
"""

from __future__ import annotations

import math

import numpy as np

from ago.frontend.onnx_ops.base import RefusalError
from ago.frontend.torch_call import Call, Handler, Reader, int_vector, positive_axis


def _simple(op: str, *names: str, **attrs: object) -> Handler:
    """An operator that is one of ONNX's on some of its arguments."""

    def handle(call: Call, reader: Reader) -> str:
        tensors = [call[name] for name in names]
        return reader.emit(op, *(reader.value(t, like=tensors[0]) for t in tensors), **attrs)

    return handle


def _binary(op: str) -> Handler:
    """An element-wise operator on two tensors, or a tensor and a number."""

    def handle(call: Call, reader: Reader) -> str:
        a, b = call["self"], call["other"]
        right = reader.value(b, like=a)
        if call.get("alpha", 1) != 1:
            right = reader.emit("Mul", right, reader.value(call["alpha"], like=a))
        return reader.emit(op, reader.value(a, like=b), right)

    return handle


def _divide(call: Call, reader: Reader) -> str:
    if call.get("rounding_mode") is not None:
        raise RefusalError(f"rounding_mode={call['rounding_mode']!r}")
    return reader.emit("Div", reader.value(call["self"]), reader.value(call["other"], call["self"]))


def _same(call: Call, reader: Reader) -> str:
    """A copy, or training's work that inference leaves out."""
    return reader.value(call.first)


def _reshape(call: Call, reader: Reader) -> str:
    x = reader.value(call.first)
    return reader.emit("Reshape", x, int_vector(reader, call.result))


def _permute(call: Call, reader: Reader) -> str:
    rank = len(call.result)
    perm = tuple(positive_axis(axis, rank) for axis in call["dims"])
    return reader.emit("Transpose", reader.value(call["self"]), perm=perm)


def _transpose(call: Call, reader: Reader) -> str:
    perm = list(range(len(call.result)))
    if len(perm) > 1:
        first, second = call.get("dim0", 0), call.get("dim1", 1)
        perm[first], perm[second] = perm[second], perm[first]
    return reader.emit("Transpose", reader.value(call["self"]), perm=tuple(perm))


def _concat(call: Call, reader: Reader) -> str:
    return reader.emit("Concat", *map(reader.value, call["tensors"]), axis=call["dim"])


def _stack(call: Call, reader: Reader) -> str:
    axis = int_vector(reader, [positive_axis(call["dim"], len(call.result))])
    parts = [reader.emit("Unsqueeze", reader.value(x), axis) for x in call["tensors"]]
    return reader.emit("Concat", *parts, axis=call["dim"])


def _split(call: Call, reader: Reader) -> tuple[str, ...]:
    extent = reader.shape(call["self"])[call["dim"]]
    sizes = call.get("split_sizes", call.get("split_size"))
    if isinstance(sizes, int):
        sizes = [min(sizes, extent - start) for start in range(0, extent, sizes)]
    x, parts = reader.value(call["self"]), int_vector(reader, sizes)
    return reader.emit_many("Split", len(sizes), x, parts, axis=call["dim"])


def _chunk(call: Call, reader: Reader) -> tuple[str, ...]:
    extent = reader.shape(call["self"])[call["dim"]]
    return _split(
        Call({**call.arguments, "split_size": -(-extent // call["chunks"])}, (), ""), reader
    )


def _unbind(call: Call, reader: Reader) -> tuple[str, ...]:
    x, axis = reader.value(call["self"]), call["dim"]
    count = reader.shape(call["self"])[axis]
    places = (reader.constant(np.array(place, np.int64)) for place in range(count))
    return tuple(reader.emit("Gather", x, place, axis=axis) for place in places)


def _select(call: Call, reader: Reader) -> str:
    place = reader.constant(np.array(call["index"], np.int64))
    return reader.emit("Gather", reader.value(call["self"]), place, axis=call["dim"])


def _slice(call: Call, reader: Reader) -> str:
    start, end = call["start"] or 0, call["end"]
    end = np.iinfo(np.int64).max if end is None else end
    bounds = ([start], [end], [call["dim"]], [call["step"]])
    return reader.emit(
        "Slice", reader.value(call["self"]), *(int_vector(reader, b) for b in bounds)
    )


def _expand(call: Call, reader: Reader) -> str:
    return reader.emit("Expand", reader.value(call["self"]), int_vector(reader, call.result))


def _repeat(call: Call, reader: Reader) -> str:
    x, repeats = reader.value(call["self"]), call["repeats"]
    more = len(repeats) - len(reader.shape(call["self"]))
    if more:
        shape = (*[1] * more, *reader.shape(call["self"]))
        x = reader.emit("Reshape", x, int_vector(reader, shape))
    return reader.emit("Tile", x, int_vector(reader, repeats))


def _reduce(op: str) -> Handler:
    def handle(call: Call, reader: Reader) -> str:
        x, axes = reader.value(call["self"]), call.get("dim")
        listed = [axes] if isinstance(axes, int) else list(axes or [])
        inputs = [x, int_vector(reader, listed)] if listed else [x]
        return reader.emit(op, *inputs, keepdims=int(call.get("keepdim", False)))

    return handle


def _variance(call: Call, reader: Reader) -> str:
    """`sum((x - mean)^2) / (n - correction)`."""
    shape, axes = reader.shape(call["self"]), call["dim"] or range(len(reader.shape(call["self"])))
    correction = call["correction"] if call.get("correction") is not None else 1
    count = math.prod(shape[axis] for axis in axes)
    listed, x = int_vector(reader, list(axes)), reader.value(call["self"])
    off = reader.emit("Sub", x, reader.emit("ReduceMean", x, listed, keepdims=1))
    total = reader.emit("ReduceSumSquare", off, listed, keepdims=int(call["keepdim"]))
    return reader.emit("Div", total, reader.value(float(count - correction), call["self"]))


def _pad(call: Call, reader: Reader) -> str:
    rank, pads = len(call.result), list(call["pad"])
    pads += [0] * (2 * rank - len(pads))
    ordered = [pads[2 * (rank - 1 - axis) + side] for side in (0, 1) for axis in range(rank)]
    x = call["self"]
    inputs = (reader.value(x), int_vector(reader, ordered), reader.value(call["value"], like=x))
    return reader.emit("Pad", *inputs)


def _clamp(call: Call, reader: Reader) -> str:
    x = call["self"]
    names = {"min": ("min", "min_val"), "max": ("max", "max_val")}
    bounds = (
        next((call.get(n) for n in options if call.get(n) is not None), None)
        for options in names.values()
    )
    limits = ("" if bound is None else reader.value(bound, like=x) for bound in bounds)
    return reader.emit("Clip", reader.value(x), *limits)


def _relu6(call: Call, reader: Reader) -> str:
    x = call["self"]
    return reader.emit("Clip", *(reader.value(v, like=x) for v in (x, 0.0, 6.0)))


def _silu(call: Call, reader: Reader) -> str:
    x = reader.value(call["self"])
    return reader.emit("Mul", x, reader.emit("Sigmoid", x))


def _gelu(call: Call, reader: Reader) -> str:
    return reader.emit("Gelu", reader.value(call["self"]), approximate=call["approximate"])


def _leaky_relu(call: Call, reader: Reader) -> str:
    slope = float(call["negative_slope"])
    return reader.emit("LeakyRelu", reader.value(call["self"]), alpha=slope)


def _reciprocal_root(call: Call, reader: Reader) -> str:
    return reader.emit("Reciprocal", reader.emit("Sqrt", reader.value(call["self"])))


def _power(call: Call, reader: Reader) -> str:
    x = call["self"]
    return reader.emit("Pow", reader.value(x, call["exponent"]), reader.value(call["exponent"], x))


def _index(call: Call, reader: Reader) -> str:
    places = [(axis, index) for axis, index in enumerate(call["indices"]) if index is not None]
    if len(places) != 1:
        raise RefusalError(f"indices of {len(places)} axes")
    ((axis, index),) = places
    return reader.emit("Gather", reader.value(call["self"]), reader.value(index), axis=axis)


def _cast(call: Call, reader: Reader) -> str:
    x = call["self"]
    if reader.dtype(x) == call.dtype:
        return reader.value(x)
    number = ONNX_NUMBERS.get(call.dtype)
    if number is None:
        raise RefusalError(f"elements of type {call.dtype}")
    return reader.emit("Cast", reader.value(x), to=number)


def _where(call: Call, reader: Reader) -> str:
    a, b = call["self"], call["other"]
    names = (reader.value(call["condition"]), reader.value(a, b), reader.value(b, a))
    return reader.emit("Where", *names)


ONNX_NUMBERS = {"f32": 1, "u8": 2, "i8": 3, "i32": 6, "i64": 7, "bool": 9, "f64": 11}
"""ONNX's numbers of element types."""

_UNARY = {
    **{
        name: name.capitalize() for name in ("relu", "sigmoid", "tanh", "erf", "exp", "log", "sqrt")
    },
    **{name: name.capitalize() for name in ("neg", "abs", "floor", "ceil", "sin", "cos", "round")},
    "reciprocal": "Reciprocal",
    "hardswish": "HardSwish",
    "mish": "Mish",
    "logical_not": "Not",
    "bitwise_not": "Not",
    "softplus": "Softplus",
}

_COPIES = ("alias", "clone", "contiguous", "detach", "dropout", "lift_fresh_copy", "native_dropout")

TENSORS: dict[str, Handler] = {
    **{name: _simple(op, "self") for name, op in _UNARY.items()},
    **dict.fromkeys(_COPIES, _same),
    **dict.fromkeys(("_to_copy", "to"), _cast),
    **dict.fromkeys(("view", "_unsafe_view", "reshape", "flatten", "unflatten"), _reshape),
    **dict.fromkeys(("squeeze", "unsqueeze", "view_copy", "_reshape_copy"), _reshape),
    "mm": _simple("MatMul", "self", "mat2"),
    "bmm": _simple("MatMul", "self", "mat2"),
    "matmul": _simple("MatMul", "self", "other"),
    "add": _binary("Add"),
    "sub": _binary("Sub"),
    "mul": _binary("Mul"),
    "div": _divide,
    "maximum": _binary("Max"),
    "minimum": _binary("Min"),
    "eq": _binary("Equal"),
    "lt": _binary("Less"),
    "le": _binary("LessOrEqual"),
    "gt": _binary("Greater"),
    "ge": _binary("GreaterOrEqual"),
    "logical_and": _binary("And"),
    "logical_or": _binary("Or"),
    "pow": _power,
    "rsqrt": _reciprocal_root,
    "where": _where,
    "permute": _permute,
    "transpose": _transpose,
    "t": _transpose,
    "cat": _concat,
    "stack": _stack,
    "split": _split,
    "split_with_sizes": _split,
    "chunk": _chunk,
    "unbind": _unbind,
    "select": _select,
    "slice": _slice,
    "expand": _expand,
    "repeat": _repeat,
    "mean": _reduce("ReduceMean"),
    "sum": _reduce("ReduceSum"),
    "amax": _reduce("ReduceMax"),
    "amin": _reduce("ReduceMin"),
    "var": _variance,
    "constant_pad_nd": _pad,
    "pad": _pad,
    "clamp": _clamp,
    "hardtanh": _clamp,
    "relu6": _relu6,
    "hardsigmoid": _simple("HardSigmoid", "self", alpha=1 / 6, beta=0.5),
    "silu": _silu,
    "gelu": _gelu,
    "leaky_relu": _leaky_relu,
    "index": _index,
}
"""What each operator means, by its name without the overload."""
