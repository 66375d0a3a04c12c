"""PyTorch's layers in ONNX's terms: convolutions, products, norms, pools, attention.

Read `LAYERS` first: from the name of an ATen operator to its handler.
"""

from __future__ import annotations

import math

import numpy as np

from ago.frontend.onnx_ops.base import RefusalError
from ago.frontend.torch_call import Call, Handler, Reader, int_vector, per_axis


def _convolution(call: Call, reader: Reader) -> str:
    x, w = call["input"], call["weight"]
    rank = len(reader.shape(x)) - 2
    inputs = [reader.value(x), reader.value(w)]
    if call["bias"] is not None:
        inputs.append(reader.value(call["bias"]))
    padding = call["padding"]
    attrs: dict[str, object] = {
        "strides": per_axis(call["stride"], rank),
        "dilations": per_axis(call["dilation"], rank),
        "group": call["groups"],
    }
    if isinstance(padding, str):
        attrs["auto_pad"] = "SAME_UPPER" if padding == "same" else "VALID"
    else:
        attrs["pads"] = per_axis(padding, rank) * 2
    if not call.get("transposed", "output_padding" in call.arguments):
        return reader.emit("Conv", *inputs, **attrs)
    attrs["output_padding"] = per_axis(call["output_padding"], rank)
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
    kernel = per_axis(call["kernel_size"], rank)
    return {
        "kernel_shape": kernel,
        "strides": per_axis(call["stride"], rank) if call["stride"] else kernel,
        "pads": per_axis(call["padding"], rank) * 2,
        "dilations": per_axis(call.get("dilation", 1), rank),
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


def _resize(mode: str) -> Handler:
    def handle(call: Call, reader: Reader) -> str:
        sizes = int_vector(reader, call.result)
        corners = call.get("align_corners", False)
        coordinates = "align_corners" if corners else "pytorch_half_pixel"
        attrs: dict[str, object] = {"mode": mode, "coordinate_transformation_mode": coordinates}
        if mode == "nearest":
            attrs |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        elif mode == "cubic":
            attrs["cubic_coeff_a"] = -0.75
        return reader.emit("Resize", reader.value(call.first), "", "", sizes, **attrs)

    return handle


def _embedding(call: Call, reader: Reader) -> str:
    return reader.emit(
        "Gather", reader.value(call["weight"]), reader.value(call["indices"]), axis=0
    )


def _pixel_shuffle(call: Call, reader: Reader) -> str:
    factor = call["upscale_factor"]
    return reader.emit("DepthToSpace", reader.value(call["self"]), blocksize=factor, mode="CRD")


def _softmax(op: str) -> Handler:
    def handle(call: Call, reader: Reader) -> str:
        return reader.emit(op, reader.value(call["self"]), axis=call["dim"])

    return handle


LAYERS: dict[str, Handler] = {
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
    "scaled_dot_product_attention": _attention,
    "upsample_nearest2d": _resize("nearest"),
    "upsample_bilinear2d": _resize("linear"),
    "upsample_bicubic2d": _resize("cubic"),
    "softmax": _softmax("Softmax"),
    "_softmax": _softmax("Softmax"),
    "log_softmax": _softmax("LogSoftmax"),
    "_log_softmax": _softmax("LogSoftmax"),
    "embedding": _embedding,
    "pixel_shuffle": _pixel_shuffle,
}
"""What each operator means, by its name without the overload."""
