"""Recurrent networks: RNN, GRU and LSTM.

Read `Sizes` and `OPERATORS` first. Invariant: references work on `[steps, batch, ...]`; `layout=1`
swaps the axes on the way in and out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ago.ir.attributes import read_float, read_floats, read_int, read_str, read_strs
from ago.ir.ops.operands import FLOAT, at_most, operand, optional_operand
from ago.ir.ops.operator import (
    Array,
    Attrs,
    InputArrays,
    InputTypes,
    Operator,
    array,
    optional,
    require,
)
from ago.ir.tensor import TensorType

Activation: TypeAlias = Callable[[Array], Array]
Step: TypeAlias = Callable[["Direction", Array, Array, Array], tuple[Array, Array]]

DIRECTIONS = ("forward", "reverse", "bidirectional")

GATES: Mapping[str, int] = {"RNN": 1, "GRU": 3, "LSTM": 4}
"""Gates of each cell: `i`, `zrh` and `iofc`, in the order of the weights."""

ACTIVATIONS_OF: Mapping[str, int] = {"RNN": 1, "GRU": 2, "LSTM": 3}
"""Activations of each cell in one direction."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The extents of a recurrent node.

    Attributes:
        steps: Elements of the sequence.
        batch: Sequences.
        input: Elements of `x` at one step.
        hidden: Elements of the state.
        directions: 1 or 2.
    """

    steps: int
    batch: int
    input: int
    hidden: int
    directions: int

    @classmethod
    def of(cls, x: TensorType, r: TensorType, attrs: Attrs) -> Sizes:
        """Read the extents from the types of `x` and `r`."""
        require(x.rank == 3 and r.rank == 3, f"needs x and r of rank 3, not {x} and {r}")
        first, second, size = x.shape
        batch_first = read_int(attrs, "layout") == 1
        steps, batch = (second, first) if batch_first else (first, second)
        two = read_str(attrs, "direction") == "bidirectional"
        return cls(steps, batch, size, r.shape[2], 2 if two else 1)

    def state(self, attrs: Attrs) -> tuple[int, int, int]:
        """Return the shape of a state."""
        if read_int(attrs, "layout") == 1:
            return self.batch, self.directions, self.hidden
        return self.directions, self.batch, self.hidden

    def sequence(self, attrs: Attrs) -> tuple[int, int, int, int]:
        """Return the shape of all states."""
        if read_int(attrs, "layout") == 1:
            return self.batch, self.steps, self.directions, self.hidden
        return self.steps, self.directions, self.batch, self.hidden


def infer_recurrent(op: str, types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Types of `y` and the last states, from `x, w, r, b?, lengths?, initial_h?, ...`."""
    at_most(types, 8 if op == "LSTM" else 6)
    x, _, r = (operand(types, k, name) for k, name in enumerate(("x", "w", "r")))
    direction = read_str(attrs, "direction")
    require(direction in DIRECTIONS, f"direction {direction!r} is not one of {DIRECTIONS}")
    sizes = Sizes.of(x, r, attrs)
    width = GATES[op] * sizes.hidden
    state = sizes.state(attrs)
    expected = {
        1: ("w", (sizes.directions, width, sizes.input), FLOAT),
        2: ("r", (sizes.directions, width, sizes.hidden), FLOAT),
        3: ("b", (sizes.directions, 2 * width), FLOAT),
        4: ("sequence_lens", (sizes.batch,), frozenset({"i32"})),
        5: ("initial_h", state, FLOAT),
        6: ("initial_c", state, FLOAT),
        7: ("p", (sizes.directions, 3 * sizes.hidden), FLOAT),
    }
    for position, (name, shape, dtypes) in expected.items():
        kind = optional_operand(types, position, name, dtypes)
        require(kind is None or kind.shape == shape, f"{name} must have the shape {shape}: {kind}")
    count = ACTIVATIONS_OF[op] * sizes.directions
    names = read_strs(attrs, "activations")
    require(len(names) == count, f"needs {count} activations, not {names}")
    unknown = sorted(set(names) - set(ACTIVATIONS))
    require(not unknown, f"unknown activations {unknown}")
    y = TensorType(sizes.sequence(attrs))
    return (y, *[TensorType(state)] * (2 if op == "LSTM" else 1))


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a recurrent node, on `[steps, batch, ...]`.

    Attributes:
        w: Weights of the input, `[gates * hidden, input]`.
        r: Weights of the state, `[gates * hidden, hidden]`.
        w_bias: `[gates * hidden]`.
        r_bias: Likewise.
        peepholes: `[3, hidden]`.
        activations: Of the cell, in ONNX's order, clipping included.
        attrs: The node's attributes.
    """

    w: Array
    r: Array
    w_bias: Array
    r_bias: Array
    peepholes: Array
    activations: tuple[Activation, ...]
    attrs: Attrs


def rnn_step(cell: Direction, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """`f(x W' + h R' + b)`."""
    (f,) = cell.activations
    return f(x @ cell.w.T + h @ cell.r.T + cell.w_bias + cell.r_bias), c


def gru_step(cell: Direction, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """Update gate z, reset gate r, candidate n: `(1 - z) n + z h`."""
    f, g = cell.activations
    size = h.shape[1]
    from_x = x @ cell.w.T + cell.w_bias
    both = slice(2 * size)
    gates = from_x[:, both] + h @ cell.r[both].T + cell.r_bias[both]
    z, reset = f(gates[:, :size]), f(gates[:, size:])
    r, bias = cell.r[2 * size :], cell.r_bias[2 * size :]
    if read_int(cell.attrs, "linear_before_reset"):
        from_h = reset * (h @ r.T + bias)
    else:
        from_h = (reset * h) @ r.T + bias
    return (1 - z) * g(from_x[:, 2 * size :] + from_h) + z * h, c


def lstm_step(cell: Direction, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """Input gate i, output gate o, forget gate f: `c' = f c + i new`, `h' = o activation(c')`."""
    f, g, last = cell.activations
    gates = x @ cell.w.T + h @ cell.r.T + cell.w_bias + cell.r_bias
    i, o, forget, new = np.split(gates, 4, axis=1)
    p_i, p_o, p_f = cell.peepholes
    i = f(i + p_i * c)
    forget = 1 - i if read_int(cell.attrs, "input_forget") else f(forget + p_f * c)
    c = forget * c + i * g(new)
    o = f(o + p_o * c)
    return o * last(c), c


STEPS: Mapping[str, Step] = {"RNN": rnn_step, "GRU": gru_step, "LSTM": lstm_step}


def recurrent_reference(op: str, inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Walk the steps in each direction; what lies behind the end of a sequence is 0."""
    x, w, r = (array(inputs, k) for k in range(3))
    biases, given = optional(inputs, 3), optional(inputs, 4)
    peepholes = optional(inputs, 7)
    swap = read_int(attrs, "layout") == 1
    x = np.swapaxes(x, 0, 1) if swap else x
    steps, batch, _ = x.shape
    count, width, hidden = r.shape
    lengths = np.full(batch, steps) if given is None else np.clip(given.astype(int), 0, steps)
    states = np.zeros((2, count, batch, hidden))
    for k in range(2):
        initial = optional(inputs, 5 + k)
        if initial is not None:
            states[k] = np.swapaxes(initial, 0, 1) if swap else initial
    y = np.zeros((steps, count, batch, hidden))
    for d in range(count):
        bias = np.zeros(2 * width) if biases is None else biases[d]
        peephole = np.zeros(3 * hidden) if peepholes is None else peepholes[d]
        cell = Direction(
            w[d],
            r[d],
            bias[:width],
            bias[width:],
            peephole.reshape(3, hidden),
            _activations(op, attrs, d),
            attrs,
        )
        backwards = d == 1 or read_str(attrs, "direction") == "reverse"
        _walk(STEPS[op], cell, x, lengths, backwards, states[:, d], y[:, d])
    last = [np.swapaxes(s, 0, 1) if swap else s for s in states[: 2 if op == "LSTM" else 1]]
    return (np.moveaxis(y, 2, 0) if swap else y, *last)


def _walk(
    step: Step,
    cell: Direction,
    x: Array,
    lengths: Array,
    backwards: bool,
    states: Array,
    y: Array,
) -> None:
    """Fill `y` and carry the states `[2, batch, hidden]` on, each sequence up to its length."""
    rows = np.arange(len(lengths))
    for number in range(len(x)):
        inside = number < lengths
        at = np.where(inside & backwards, lengths - 1 - number, number)
        h, c = step(cell, x[at, rows], states[0], states[1])
        states[0] = np.where(inside[:, None], h, states[0])
        states[1] = np.where(inside[:, None], c, states[1])
        y[at, rows] = np.where(inside[:, None], h, 0.0)


def _activations(op: str, attrs: Attrs, direction: int) -> tuple[Activation, ...]:
    count = ACTIVATIONS_OF[op]
    part = slice(direction * count, (direction + 1) * count)
    names = read_strs(attrs, "activations")[part]
    alphas = read_floats(attrs, "activation_alpha")[part]
    betas = read_floats(attrs, "activation_beta")[part]
    return tuple(
        _clipped(name, alpha, beta, read_float(attrs, "clip"))
        for name, alpha, beta in zip(names, alphas, betas, strict=True)
    )


def _clipped(name: str, alpha: float, beta: float, clip: float) -> Activation:
    def activation(x: Array) -> Array:
        with np.errstate(over="ignore"):
            return ACTIVATIONS[name](np.clip(x, -clip, clip), alpha, beta)

    return activation


ACTIVATIONS: Mapping[str, Callable[[Array, float, float], Array]] = {
    "Relu": lambda x, a, b: np.maximum(x, 0),
    "Tanh": lambda x, a, b: np.tanh(x),
    "Sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "Affine": lambda x, a, b: a * x + b,
    "LeakyRelu": lambda x, a, b: np.where(x < 0, a * x, x),
    "ThresholdedRelu": lambda x, a, b: np.where(x <= a, 0, x),
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "Elu": lambda x, a, b: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x),
    "Softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "Softplus": lambda x, a, b: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
}
"""Activations by ONNX's names, with alpha and beta."""


def _operator(op: str) -> Operator:
    return Operator(
        op,
        "extern",
        lambda types, attrs: infer_recurrent(op, types, attrs),
        lambda inputs, attrs: recurrent_reference(op, inputs, attrs),
    )


OPERATORS = tuple(_operator(op) for op in GATES)
