"""Writing a graph by hand.

Read `GraphBuilder` first. Invariant: each call infers its shape at once, so a mistake is reported
by the call that makes it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ago.errors import ModelError
from ago.frontend.window_attrs import PerAxis, per_axis, pool_attrs
from ago.ir.graph import Graph, Node, TensorType
from ago.ir.ops import OPERATORS, Attrs
from ago.ir.tensor import numpy_dtype


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor of the graph being built.

    Attributes:
        name: Its name in the graph.
        type: Its shape and element type.
    """

    name: str
    type: TensorType

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, in elements."""
        return self.type.shape


Operand: TypeAlias = Value | npt.ArrayLike


class GraphBuilder:
    """Builds a `Graph`, one call an operator.

    Operands are values of earlier calls or constant arrays, which become float32 parameters.
    `apply` reaches every canonical operator, also those without a method of their own.
    Tensors are in ONNX's order: `[N, C, spatial...]`.

    Args:
        name: Name of the graph.

    Example:
        >>> b = GraphBuilder("net")
        >>> x = b.input("x", (1, 3, 8, 8))
        >>> y = b.relu(b.conv(x, np.zeros((4, 3, 3, 3)), strides=2, pads=1))
        >>> print(b.build(y))
        graph net(x: f32[1,3,8,8]) -> relu0
          conv0 = Conv(x, conv0.weight) dilations=(1,1) group=1 pads=(1,1,1,1) strides=(2,2) -> \
f32[1,4,4,4]
          relu0 = Relu(conv0) -> f32[1,4,4,4]
    """

    def __init__(self, name: str = "graph") -> None:
        self._name = name
        self._inputs: dict[str, TensorType] = {}
        self._params: dict[str, npt.NDArray[np.float32]] = {}
        self._nodes: list[Node] = []
        self._values: dict[str, Value] = {}
        self._counts: Counter[str] = Counter()

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {kind}" for name, kind in self._inputs.items())
        return f"GraphBuilder({self._name!r}: inputs {inputs or 'none'}; {len(self._nodes)} nodes)"

    def input(self, name: str, shape: Sequence[int], dtype: str = "f32") -> Value:
        """Declare an input of the graph.

        Args:
            name: Its name.
            shape: Its extents, in elements.
            dtype: Short name of its element type.

        Raises:
            ModelError: If the name is taken, an extent is not positive, or the element type is
                unknown.
        """
        try:
            extents = tuple(index(extent) for extent in shape)
        except TypeError as error:
            raise ModelError(f"input {name!r}: extents of {shape!r} must be integers") from error
        if min(extents, default=1) < 1:
            raise ModelError(f"input {name!r}: extents of {extents} must be positive")
        value = self._define(name, _tensor_type(name, extents, dtype))
        self._inputs[name] = value.type
        return value

    def constant(self, data: npt.ArrayLike, name: str = "", dtype: str = "f32") -> Value:
        """Add a parameter.

        Args:
            data: Its elements; they are stored as `dtype`.
            name: Its name.
            dtype: Short name of its element type.

        Raises:
            ModelError: If the name is taken, the element type unknown, or `data` no array of it.
        """
        name = name or self._fresh("constant")
        try:
            kind = _tensor_type(name, np.shape(data), dtype)
            array = np.array(data, dtype=numpy_dtype(dtype))
        except (TypeError, ValueError) as error:
            raise ModelError(f"{name}: neither a value nor an array of {dtype}: {error}") from error
        value = self._define(name, kind)
        self._params[name] = array
        return value

    def apply(self, op: str, *operands: Operand | None, name: str = "", **attrs: object) -> Value:
        """Apply any canonical operator and return its first output.

        Args:
            op: Key of `ago.ir.ops.OPERATORS`.
            operands: Its inputs; None is an absent optional one.
            name: Name of the node and of its first output.
            attrs: All its attributes.

        Raises:
            ModelError: If the operator is unknown or does not fit its inputs.
        """
        return self.apply_many(op, *operands, name=name, **attrs)[0]

    def apply_many(
        self, op: str, *operands: Operand | None, name: str = "", **attrs: object
    ) -> tuple[Value, ...]:
        """Apply any canonical operator, as `apply` does, and return all its outputs."""
        if op not in OPERATORS:
            raise ModelError(f"the operator {op!r} is unknown")
        name = name or self._fresh(op.lower())
        values = [
            operand
            if operand is None or isinstance(operand, Value)
            else self.constant(operand, f"{name}.input{position}")
            for position, operand in enumerate(operands)
        ]
        return self._apply_many(op, values, attrs, name)

    def conv(
        self,
        x: Value,
        weight: Operand,
        bias: Operand | None = None,
        *,
        strides: PerAxis = 1,
        pads: PerAxis = 0,
        dilations: PerAxis = 1,
        group: int = 1,
        name: str = "",
    ) -> Value:
        """Convolve `x[N,C,spatial...]` with `weight[O,C/group,kernel...]`.

        Args:
            x: The input.
            weight: The filters.
            bias: One number per filter, `[O]`.
            strides: Steps between windows, for all spatial axes or one each.
            pads: Zeros added on every side, or before each spatial axis and then after each.
            dilations: Steps between taps, for all spatial axes or one each.
            group: Number of independent groups of channels.
            name: Name of the node and of its result.
        """
        name = name or self._fresh("conv")
        rank = len(x.shape) - 2
        attrs = {
            "strides": per_axis(strides, rank),
            "pads": per_axis(pads, 2 * rank),
            "dilations": per_axis(dilations, rank),
            "group": group,
        }
        operands = self._operands(name, x=x, weight=weight, bias=bias)
        return self._apply("Conv", operands, attrs, name)

    def gemm(
        self,
        a: Value,
        b: Operand,
        c: Operand | None = None,
        *,
        trans_a: bool = False,
        trans_b: bool = False,
        alpha: float = 1.0,
        beta: float = 1.0,
        name: str = "",
    ) -> Value:
        """Return `alpha * op(a) @ op(b) + beta * c`, where `op` transposes if asked to."""
        name = name or self._fresh("gemm")
        attrs = {
            "trans_a": int(trans_a),
            "trans_b": int(trans_b),
            "alpha": float(alpha),
            "beta": float(beta),
        }
        operands = self._operands(name, a=a, weight=b, bias=c)
        return self._apply("Gemm", operands, attrs, name)

    def matmul(self, a: Operand, b: Operand, *, name: str = "") -> Value:
        """Return the product of two matrices."""
        return self._simple("MatMul", {}, name, a=a, b=b)

    def batch_norm(
        self,
        x: Value,
        scale: Operand,
        bias: Operand,
        mean: Operand,
        var: Operand,
        *,
        epsilon: float = 1e-5,
        name: str = "",
    ) -> Value:
        """Return `(x - mean) / sqrt(var + epsilon) * scale + bias`, channel by channel."""
        attrs = {"epsilon": float(epsilon)}
        statistics = {"scale": scale, "bias": bias, "mean": mean, "var": var}
        return self._simple("BatchNormalization", attrs, name, x=x, **statistics)

    def relu(self, x: Value, *, name: str = "") -> Value:
        """Return `max(x, 0)`."""
        return self._simple("Relu", {}, name, x=x)

    def clip(
        self, x: Value, low: float = -math.inf, high: float = math.inf, *, name: str = ""
    ) -> Value:
        """Return `min(max(x, low), high)`."""
        return self._simple("Clip", {"min": float(low), "max": float(high)}, name, x=x)

    def relu6(self, x: Value, *, name: str = "") -> Value:
        """Return `min(max(x, 0), 6)`."""
        return self.clip(x, 0.0, 6.0, name=name)

    def add(self, a: Operand, b: Operand, *, name: str = "") -> Value:
        """Return `a + b`, broadcasting as numpy does."""
        return self._simple("Add", {}, name, a=a, b=b)

    def sub(self, a: Operand, b: Operand, *, name: str = "") -> Value:
        """Return `a - b`, broadcasting as numpy does."""
        return self._simple("Sub", {}, name, a=a, b=b)

    def mul(self, a: Operand, b: Operand, *, name: str = "") -> Value:
        """Return `a * b`, broadcasting as numpy does."""
        return self._simple("Mul", {}, name, a=a, b=b)

    def div(self, a: Operand, b: Operand, *, name: str = "") -> Value:
        """Return `a / b`, broadcasting as numpy does."""
        return self._simple("Div", {}, name, a=a, b=b)

    def identity(self, x: Operand, *, name: str = "") -> Value:
        """Return `x` under another name."""
        return self._simple("Identity", {}, name, x=x)

    def global_average_pool(self, x: Value, *, name: str = "") -> Value:
        """Return the mean of `x[N,C,spatial...]` over its spatial axes, kept as extents of 1."""
        return self._simple("GlobalAveragePool", {}, name, x=x)

    def reduce_mean(
        self, x: Value, axes: PerAxis, *, keepdims: bool = True, name: str = ""
    ) -> Value:
        """Return the mean over `axes`; negative ones count from the end."""
        listed = (axes,) if isinstance(axes, int) else axes
        rank = len(x.shape)
        ascending = tuple(sorted(axis + rank if axis < 0 else axis for axis in listed))
        attrs = {"axes": ascending, "keepdims": int(keepdims)}
        return self._simple("ReduceMean", attrs, name, x=x)

    def max_pool(
        self,
        x: Value,
        kernel: PerAxis,
        *,
        strides: PerAxis = 1,
        pads: PerAxis = 0,
        dilations: PerAxis = 1,
        ceil_mode: bool = False,
        name: str = "",
    ) -> Value:
        """Return the maximum of each window; the padding takes no part."""
        attrs = pool_attrs(len(x.shape) - 2, kernel, strides, pads, dilations, ceil_mode)
        return self._simple("MaxPool", attrs, name, x=x)

    def average_pool(
        self,
        x: Value,
        kernel: PerAxis,
        *,
        strides: PerAxis = 1,
        pads: PerAxis = 0,
        dilations: PerAxis = 1,
        ceil_mode: bool = False,
        count_include_pad: bool = False,
        name: str = "",
    ) -> Value:
        """Return the mean of each window, counting the padding as zeros if asked to."""
        attrs = pool_attrs(len(x.shape) - 2, kernel, strides, pads, dilations, ceil_mode)
        counted = {"count_include_pad": int(count_include_pad)}
        return self._simple("AveragePool", {**attrs, **counted}, name, x=x)

    def reshape(self, x: Value, shape: Sequence[int], *, name: str = "") -> Value:
        """Return the elements of `x`, in row-major order, in another shape; one -1 is inferred."""
        extents = [int(extent) for extent in shape]
        if extents.count(-1) == 1:
            known = math.prod(extent for extent in extents if extent != -1)
            extents[extents.index(-1)] = x.type.size // max(known, 1)
        return self._simple("Reshape", {"shape": tuple(extents)}, name, x=x)

    def flatten(self, x: Value, axis: int = 1, *, name: str = "") -> Value:
        """Return `x` as a matrix whose rows are the axes before `axis`."""
        rows = math.prod(x.shape[:axis])
        return self.reshape(x, (rows, x.type.size // rows), name=name)

    def pad(self, x: Value, pads: Sequence[int], value: float = 0.0, *, name: str = "") -> Value:
        """Return `x` with borders of `value`.

        Args:
            x: The input.
            pads: Elements added before each axis, then after each; negative ones crop.
            value: The border's value.
            name: Name of the node and of its result.
        """
        amounts = tuple(int(pad) for pad in pads)
        attrs = {"mode": "constant", "pads": amounts, "value": float(value)}
        return self._simple("Pad", attrs, name, x=x)

    def concat(self, parts: Sequence[Value], axis: int, *, name: str = "") -> Value:
        """Return the parts one after the other along `axis`."""
        name = name or self._fresh("concat")
        rank = len(parts[0].shape) if parts else 0
        attrs = {"axis": axis + rank if axis < 0 else axis}
        return self._apply("Concat", list(parts), attrs, name)

    def build(self, *outputs: Value) -> Graph:
        """Return the graph that computes `outputs`.

        Raises:
            ModelError: If there is no output, or one is not the result of a call.
        """
        if not outputs:
            raise ModelError(f"graph {self._name!r} has no outputs: pass them to `build`")
        made = {value for node in self._nodes for value in node.outputs}
        for value in outputs:
            if value.name not in made:
                raise ModelError(f"output {value.name!r} is not the result of an operator")
        names = [value.name for value in outputs]
        return Graph.make(self._name, self._inputs, self._nodes, names, self._params)

    def _simple(self, op: str, attrs: Attrs, name: str, **operands: Operand) -> Value:
        name = name or self._fresh(op.lower())
        return self._apply(op, self._operands(name, **operands), attrs, name)

    def _operands(self, name: str, **operands: Operand | None) -> list[Value]:
        """Return the operands that are given, after turning arrays into parameters."""
        return [
            operand if isinstance(operand, Value) else self.constant(operand, f"{name}.{role}")
            for role, operand in operands.items()
            if operand is not None
        ]

    def _apply(self, op: str, operands: Sequence[Value], attrs: Attrs, name: str) -> Value:
        return self._apply_many(op, operands, attrs, name)[0]

    def _apply_many(
        self, op: str, operands: Sequence[Value | None], attrs: Attrs, name: str
    ) -> tuple[Value, ...]:
        for operand in operands:
            if operand is not None and self._values.get(operand.name) != operand:
                raise ModelError(f"{op} {name!r}: {operand.name!r} is not a value of this builder")
        kinds = [None if operand is None else operand.type for operand in operands]
        try:
            types = OPERATORS[op].infer(kinds, attrs)
        except ModelError as error:
            raise ModelError(f"{op} {name!r}: {error}") from error
        more = [f"{name}.{position}" for position in range(1, len(types))]
        values = tuple(map(self._define, [name, *more], types))
        inputs = tuple("" if operand is None else operand.name for operand in operands)
        outputs = tuple(value.name for value in values)
        self._nodes.append(Node(name, op, inputs, outputs, attrs, types))
        return values

    def _define(self, name: str, kind: TensorType) -> Value:
        if not name or name in self._values:
            raise ModelError(f"the name {name!r} is {'taken' if name else 'empty'}")
        self._values[name] = Value(name, kind)
        return self._values[name]

    def _fresh(self, stem: str) -> str:
        while True:
            name = f"{stem}{self._counts[stem]}"
            self._counts[stem] += 1
            if name not in self._values:
                return name


def _tensor_type(name: str, shape: tuple[int, ...], dtype: str) -> TensorType:
    if dtype == "f16":
        raise ModelError(f"{name!r}: no code is made for f16; use f32")
    try:
        return TensorType(shape, dtype)
    except ValueError as error:
        raise ModelError(f"{name!r}: {error}") from error
