"""PyTorch's operators in ONNX's terms.

Read `HANDLERS` first: from the name of an ATen operator to a function that emits ONNX nodes through
a `Reader`. The importer then reads those as it reads a file, so that each operator is understood in
one place. Invariant: a handler never guesses; what it cannot express it refuses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ago.frontend.onnx_ops.base import RefusalError
from ago.frontend.raw import AnyArray


class Reader(Protocol):
    """Where a handler puts what an ATen operator means."""

    def value(self, argument: object, like: object = None) -> str:
        """Return the name of an argument: a tensor, or a number of the type of `like`."""

    def constant(self, array: AnyArray) -> str:
        """Return the name of a new constant."""

    def shape(self, argument: object) -> tuple[int, ...]:
        """Return the extents of a tensor."""

    def dtype(self, argument: object) -> str:
        """Return the short name of a tensor's element type."""

    def emit(self, op: str, *inputs: str, **attrs: object) -> str:
        """Append an ONNX node with one output, and return its name."""

    def emit_many(self, op: str, count: int, *inputs: str, **attrs: object) -> tuple[str, ...]:
        """Append an ONNX node, and return the names of its outputs."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an ATen operator.

    Attributes:
        arguments: By name, defaults filled in.
        result: Extents of its first result.
        dtype: Short name of the result's element type.
    """

    arguments: dict[str, Any]
    result: tuple[int, ...]
    dtype: str

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - whatever torch's schema says
        return self.arguments[name]

    @property
    def first(self) -> Any:  # noqa: ANN401
        """The first argument, which some operators call `self` and others `input`."""
        return next(iter(self.arguments.values()))

    def get(self, name: str, default: object = None) -> Any:  # noqa: ANN401
        """Return an argument, or the default where the operator has none."""
        return self.arguments.get(name, default)


Handler = Callable[[Call, Reader], str | tuple[str, ...]]


def _ints(reader: Reader, values: Sequence[int]) -> str:
    return reader.constant(np.array(values, np.int64))


def _each(value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """One number for each axis; torch takes one for all, too."""
    listed = (value,) if isinstance(value, int) else tuple(value)
    return listed * rank if len(listed) == 1 else listed


def _axis(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


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


def _convolution(call: Call, reader: Reader) -> str:
    x, w = call["input"], call["weight"]
    rank = len(reader.shape(x)) - 2
    inputs = [reader.value(x), reader.value(w)]
    if call["bias"] is not None:
        inputs.append(reader.value(call["bias"]))
    padding = call["padding"]
    attrs: dict[str, object] = {
        "strides": _each(call["stride"], rank),
        "dilations": _each(call["dilation"], rank),
        "group": call["groups"],
    }
    if isinstance(padding, str):
        attrs["auto_pad"] = "SAME_UPPER" if padding == "same" else "VALID"
    else:
        attrs["pads"] = _each(padding, rank) * 2
    if not call.get("transposed", "output_padding" in call.arguments):
        return reader.emit("Conv", *inputs, **attrs)
    attrs["output_padding"] = _each(call["output_padding"], rank)
    return reader.emit("ConvTranspose", *inputs, **attrs)


def _batch_norm(call: Call, reader: Reader) -> tuple[str, ...]:
    x = reader.value(call["input"])
    channels = reader.shape(call["input"])[1]
    defaults = {"weight": 1.0, "bias": 0.0, "running_mean": 0.0, "running_var": 1.0}
    weights = [
        reader.constant(np.full(channels, default, np.float32))
        if call[name] is None
        else reader.value(call[name])
        for name, default in defaults.items()
    ]
    result = reader.emit("BatchNormalization", x, *weights, epsilon=float(call["eps"]))
    return (result, "", "")


def _layer_norm(call: Call, reader: Reader) -> str:
    shape = tuple(call["normalized_shape"])
    weight = call["weight"]
    scale = reader.constant(np.ones(shape, np.float32)) if weight is None else reader.value(weight)
    inputs = [reader.value(call["input"]), scale]
    if call["bias"] is not None:
        inputs.append(reader.value(call["bias"]))
    attrs = {"axis": -len(shape), "epsilon": float(call["eps"])}
    return reader.emit("LayerNormalization", *inputs, **attrs)


def _group_norm(call: Call, reader: Reader) -> str:
    channels = reader.shape(call["input"])[1]
    weights = [
        reader.constant(np.full(channels, default, np.float32))
        if call[name] is None
        else reader.value(call[name])
        for name, default in {"weight": 1.0, "bias": 0.0}.items()
    ]
    attrs = {"num_groups": call["num_groups"], "epsilon": float(call["eps"])}
    return reader.emit("GroupNormalization", reader.value(call["input"]), *weights, **attrs)


def _linear(call: Call, reader: Reader) -> str:
    """`x @ weight.T + bias`; a matrix is one Gemm."""
    x, weight = reader.value(call["input"]), reader.value(call["weight"])
    bias = None if call["bias"] is None else reader.value(call["bias"])
    if len(reader.shape(call["input"])) == 2:
        return reader.emit("Gemm", x, weight, *([bias] if bias else []), transB=1)
    product = reader.emit("MatMul", x, reader.emit("Transpose", weight, perm=(1, 0)))
    return reader.emit("Add", product, bias) if bias else product


def _addmm(call: Call, reader: Reader) -> str:
    names = [reader.value(call[name]) for name in ("mat1", "mat2", "self")]
    return reader.emit("Gemm", *names, alpha=float(call["alpha"]), beta=float(call["beta"]))


def _attention(call: Call, reader: Reader) -> str:
    if call["dropout_p"]:
        raise RefusalError("dropout")
    query, key, value = (reader.value(call[name]) for name in ("query", "key", "value"))
    shape, other = reader.shape(call["query"]), reader.shape(call["key"])
    if shape[:-2] != other[:-2]:
        raise RefusalError(f"queries {shape} and keys {other} of other heads")
    rank = len(shape)
    scale = 1 / math.sqrt(shape[-1]) if call["scale"] is None else float(call["scale"])
    factor = reader.constant(np.array(scale, np.float32))
    turned = reader.emit("Transpose", key, perm=(*range(rank - 2), rank - 1, rank - 2))
    scores = reader.emit("MatMul", reader.emit("Mul", query, factor), turned)
    mask = call["attn_mask"]
    if call["is_causal"]:
        future = np.triu(np.ones((shape[-2], other[-2]), bool), 1)
        scores = reader.emit(
            "Add", scores, reader.constant(np.where(future, -np.inf, 0).astype(np.float32))
        )
    elif mask is not None and reader.dtype(mask) == "bool":
        zero, never = (reader.constant(np.array(n, np.float32)) for n in (0, -np.inf))
        scores = reader.emit("Add", scores, reader.emit("Where", reader.value(mask), zero, never))
    elif mask is not None:
        scores = reader.emit("Add", scores, reader.value(mask))
    return reader.emit("MatMul", reader.emit("Softmax", scores, axis=-1), value)


def _reshape(call: Call, reader: Reader) -> str:
    x = reader.value(call.first)
    return reader.emit("Reshape", x, _ints(reader, call.result))


def _permute(call: Call, reader: Reader) -> str:
    rank = len(call.result)
    perm = tuple(_axis(axis, rank) for axis in call["dims"])
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
    axis = _ints(reader, [_axis(call["dim"], len(call.result))])
    parts = [reader.emit("Unsqueeze", reader.value(x), axis) for x in call["tensors"]]
    return reader.emit("Concat", *parts, axis=call["dim"])


def _split(call: Call, reader: Reader) -> tuple[str, ...]:
    extent = reader.shape(call["self"])[call["dim"]]
    sizes = call.get("split_sizes", call.get("split_size"))
    if isinstance(sizes, int):
        sizes = [min(sizes, extent - start) for start in range(0, extent, sizes)]
    x, parts = reader.value(call["self"]), _ints(reader, sizes)
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
    return reader.emit("Slice", reader.value(call["self"]), *(_ints(reader, b) for b in bounds))


def _expand(call: Call, reader: Reader) -> str:
    return reader.emit("Expand", reader.value(call["self"]), _ints(reader, call.result))


def _repeat(call: Call, reader: Reader) -> str:
    x, repeats = reader.value(call["self"]), call["repeats"]
    more = len(repeats) - len(reader.shape(call["self"]))
    if more:
        shape = (*[1] * more, *reader.shape(call["self"]))
        x = reader.emit("Reshape", x, _ints(reader, shape))
    return reader.emit("Tile", x, _ints(reader, repeats))


def _reduce(op: str) -> Handler:
    def handle(call: Call, reader: Reader) -> str:
        x, axes = reader.value(call["self"]), call.get("dim")
        listed = [axes] if isinstance(axes, int) else list(axes or [])
        inputs = [x, _ints(reader, listed)] if listed else [x]
        return reader.emit(op, *inputs, keepdims=int(call.get("keepdim", False)))

    return handle


def _variance(call: Call, reader: Reader) -> str:
    """`sum((x - mean)^2) / (n - correction)`."""
    shape, axes = reader.shape(call["self"]), call["dim"] or range(len(reader.shape(call["self"])))
    correction = call["correction"] if call.get("correction") is not None else 1
    count = math.prod(shape[axis] for axis in axes)
    listed, x = _ints(reader, list(axes)), reader.value(call["self"])
    off = reader.emit("Sub", x, reader.emit("ReduceMean", x, listed, keepdims=1))
    total = reader.emit("ReduceSumSquare", off, listed, keepdims=int(call["keepdim"]))
    return reader.emit("Div", total, reader.value(float(count - correction), call["self"]))


def _max_pool(call: Call, reader: Reader) -> str:
    rank = len(call["kernel_size"])
    return reader.emit("MaxPool", reader.value(call["self"]), **_pool_attrs(call, rank))


def _max_pool_with_indices(call: Call, reader: Reader) -> tuple[str, ...]:
    return (_max_pool(call, reader), "")


def _average_pool(call: Call, reader: Reader) -> str:
    if call.get("divisor_override") is not None:
        raise RefusalError(f"divisor_override={call['divisor_override']}")
    counted = int(call["count_include_pad"])
    attrs = _pool_attrs(call, len(call["kernel_size"]))
    return reader.emit(
        "AveragePool", reader.value(call["self"]), count_include_pad=counted, **attrs
    )


def _pool_attrs(call: Call, rank: int) -> dict[str, object]:
    kernel = _each(call["kernel_size"], rank)
    return {
        "kernel_shape": kernel,
        "strides": _each(call["stride"], rank) if call["stride"] else kernel,
        "pads": _each(call["padding"], rank) * 2,
        "dilations": _each(call.get("dilation", 1), rank),
        "ceil_mode": int(call["ceil_mode"]),
    }


def _adaptive_pool(op: str) -> Handler:
    def handle(call: Call, reader: Reader) -> str:
        sizes = tuple(call["output_size"])
        extents = reader.shape(call["self"])[-len(sizes) :]
        if any(extent % size for extent, size in zip(extents, sizes, strict=True)):
            raise RefusalError(f"windows of {extents} for {sizes} results are of several sizes")
        kernel = tuple(extent // size for extent, size in zip(extents, sizes, strict=True))
        return reader.emit(op, reader.value(call["self"]), kernel_shape=kernel, strides=kernel)

    return handle


def _pad(call: Call, reader: Reader) -> str:
    rank, pads = len(call.result), list(call["pad"])
    pads += [0] * (2 * rank - len(pads))
    ordered = [pads[2 * (rank - 1 - axis) + side] for side in (0, 1) for axis in range(rank)]
    x = call["self"]
    inputs = (reader.value(x), _ints(reader, ordered), reader.value(call["value"], like=x))
    return reader.emit("Pad", *inputs)


def _resize(mode: str) -> Handler:
    def handle(call: Call, reader: Reader) -> str:
        sizes = _ints(reader, call.result)
        corners = call.get("align_corners", False)
        coordinates = "align_corners" if corners else "pytorch_half_pixel"
        attrs: dict[str, object] = {"mode": mode, "coordinate_transformation_mode": coordinates}
        if mode == "nearest":
            attrs |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        elif mode == "cubic":
            attrs["cubic_coeff_a"] = -0.75
        return reader.emit("Resize", reader.value(call.first), "", "", sizes, **attrs)

    return handle


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


def _softmax(op: str) -> Handler:
    def handle(call: Call, reader: Reader) -> str:
        return reader.emit(op, reader.value(call["self"]), axis=call["dim"])

    return handle


def _reciprocal_root(call: Call, reader: Reader) -> str:
    return reader.emit("Reciprocal", reader.emit("Sqrt", reader.value(call["self"])))


def _power(call: Call, reader: Reader) -> str:
    x = call["self"]
    return reader.emit("Pow", reader.value(x, call["exponent"]), reader.value(call["exponent"], x))


def _embedding(call: Call, reader: Reader) -> str:
    return reader.emit(
        "Gather", reader.value(call["weight"]), reader.value(call["indices"]), axis=0
    )


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


def _pixel_shuffle(call: Call, reader: Reader) -> str:
    factor = call["upscale_factor"]
    return reader.emit("DepthToSpace", reader.value(call["self"]), blocksize=factor, mode="CRD")


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

HANDLERS: dict[str, Handler] = {
    **{name: _simple(op, "self") for name, op in _UNARY.items()},
    **dict.fromkeys(_COPIES, _same),
    **dict.fromkeys(("_to_copy", "to"), _cast),
    **dict.fromkeys(("view", "_unsafe_view", "reshape", "flatten", "unflatten"), _reshape),
    **dict.fromkeys(("squeeze", "unsqueeze", "view_copy", "_reshape_copy"), _reshape),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "convolution"), _convolution),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _convolution),
    **dict.fromkeys(("max_pool1d", "max_pool2d", "max_pool3d"), _max_pool),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), _average_pool),
    **dict.fromkeys(
        ("adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d"),
        _adaptive_pool("AveragePool"),
    ),
    "adaptive_max_pool2d": _adaptive_pool("MaxPool"),
    "max_pool2d_with_indices": _max_pool_with_indices,
    "_native_batch_norm_legit_no_training": _batch_norm,
    "layer_norm": _layer_norm,
    "group_norm": _group_norm,
    "linear": _linear,
    "addmm": _addmm,
    "mm": _simple("MatMul", "self", "mat2"),
    "bmm": _simple("MatMul", "self", "mat2"),
    "matmul": _simple("MatMul", "self", "other"),
    "scaled_dot_product_attention": _attention,
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
    "upsample_nearest2d": _resize("nearest"),
    "upsample_bilinear2d": _resize("linear"),
    "upsample_bicubic2d": _resize("cubic"),
    "clamp": _clamp,
    "hardtanh": _clamp,
    "relu6": _relu6,
    "hardsigmoid": _simple("HardSigmoid", "self", alpha=1 / 6, beta=0.5),
    "silu": _silu,
    "gelu": _gelu,
    "leaky_relu": _leaky_relu,
    "softmax": _softmax("Softmax"),
    "_softmax": _softmax("Softmax"),
    "log_softmax": _softmax("LogSoftmax"),
    "_log_softmax": _softmax("LogSoftmax"),
    "embedding": _embedding,
    "index": _index,
    "pixel_shuffle": _pixel_shuffle,
}
"""What each ATen operator means, by its name without the overload."""
