"""Cases of every extern, in tables by kind: one node each, on random numbers and odd sizes.

Read `EXTERN_TABLES` and `node_case` first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ago.ir.graph import Graph, Node
from ago.ir.ops import OPERATORS
from ago.ir.ops.recurrent import ACTIVATIONS
from ago.ir.tensor import TensorType, dtype_name
from tests.support.cases import Case


def node_case(
    name: str,
    op: str,
    inputs: Sequence[np.ndarray | None],
    constants: Sequence[int] = (),
    **attrs: object,
) -> Case:
    """A graph of one node.

    Args:
        name: Name of the case.
        op: The operator.
        inputs: Its inputs; None for an absent one.
        constants: Positions of the inputs that are parameters of the model.
        attrs: All its attributes.
    """
    names = ["" if array is None else f"x{k}" for k, array in enumerate(inputs)]
    arrays = {n: array for n, array in zip(names, inputs, strict=True) if array is not None}
    types = {n: TensorType(array.shape, dtype_name(array.dtype)) for n, array in arrays.items()}
    results = OPERATORS[op].infer([types.get(n) for n in names], attrs)
    outputs = tuple(f"y{k}" for k in range(len(results)))
    params = {names[k]: arrays.pop(names[k]) for k in constants}
    node = Node("node", op, tuple(names), outputs, attrs, results)
    graph = Graph.make("case", {n: types[n] for n in arrays}, [node], outputs, params)
    return Case(name, graph, arrays)


def _normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def _grid_samples() -> Iterator[Case]:
    modes = itertools.product(
        ("nearest", "linear", "cubic"), ("zeros", "border", "reflection"), (0, 1)
    )
    images = itertools.cycle([(2, 3, 4, 5), (1, 1, 7), (2, 17, 3, 1), (1, 2, 3, 2, 5)])
    for (mode, padding, aligned), shape in zip(modes, images, strict=False):
        rank = len(shape) - 2
        grid = 1.5 * _normal(1, shape[0], *(3, 2, 2)[:rank], rank)
        attrs = {"mode": mode, "padding_mode": padding, "align_corners": aligned}
        name = f"{mode} {padding} {'aligned' if aligned else 'apart'} {rank}d"
        yield node_case(name, "GridSample", [_normal(2, *shape), grid], **attrs)
        grid = grid.copy()
        grid[0, 0] = np.inf
        grid[0, 1] = np.nan
        grid[0, 2] = -1e30
        yield node_case(f"{name} far", "GridSample", [_normal(3, *shape), grid], **attrs)


def _recurrent(
    name: str,
    op: str,
    sizes: tuple[int, int, int, int],
    *,
    direction: str = "forward",
    layout: int = 0,
    optional: str = "",
    activations: Sequence[str] = (),
    constants: Sequence[int] = (1, 2, 3),
    **attrs: object,
) -> Case:
    """A recurrent node.

    Args:
        name: Name of the case.
        op: The operator.
        sizes: Steps, batch, elements of the input, elements of the state.
        direction: See ONNX.
        layout: See ONNX.
        optional: First letters of the optional inputs that are there.
        activations: By default the usual ones.
        constants: Positions of the inputs that are parameters, where they are there.
        attrs: Attributes besides the usual ones.
    """
    steps, batch, size, hidden = sizes
    gates, usual = {
        "RNN": (1, ("Tanh",)),
        "GRU": (3, ("Sigmoid", "Tanh")),
        "LSTM": (4, ("Sigmoid", "Tanh", "Tanh")),
    }[op]
    count = 2 if direction == "bidirectional" else 1
    state = (batch, count, hidden) if layout else (count, batch, hidden)
    lengths = np.random.default_rng(8).integers(-1, steps + 2, batch, np.int32)
    inputs = [
        _normal(1, batch, steps, size) if layout else _normal(1, steps, batch, size),
        0.4 * _normal(2, count, gates * hidden, size),
        0.4 * _normal(3, count, gates * hidden, hidden),
        _normal(4, count, 2 * gates * hidden) if "b" in optional else None,
        lengths if "s" in optional else None,
        _normal(5, *state) if "h" in optional else None,
        _normal(6, *state) if "c" in optional else None,
        _normal(7, count, 3 * hidden) if "p" in optional else None,
    ]
    while inputs[-1] is None:
        inputs.pop()
    chosen = tuple(activations) or usual * count
    more = {"LSTM": {"input_forget": 0}, "GRU": {"linear_before_reset": 0}, "RNN": {}}[op]
    return node_case(
        name,
        op,
        inputs,
        [k for k in constants if k < len(inputs) and inputs[k] is not None],
        **{
            "direction": direction,
            "layout": layout,
            "activations": chosen,
            "activation_alpha": (0.5,) * len(chosen),
            "activation_beta": (0.25,) * len(chosen),
            "clip": float("inf"),
            **more,
            **attrs,
        },
    )


def _recurrents() -> Iterator[Case]:
    for op in ("RNN", "GRU", "LSTM"):
        yield _recurrent(f"{op} smallest", op, (1, 1, 1, 1))
        yield _recurrent(f"{op} odd", op, (7, 5, 3, 9), optional="b", constants=())
        states = "bhc" if op == "LSTM" else "bh"
        yield _recurrent(f"{op} states", op, (3, 2, 17, 5), optional=states)
        yield _recurrent(f"{op} back", op, (5, 2, 3, 4), direction="reverse", optional="b")
        yield _recurrent(
            f"{op} both", op, (6, 3, 4, 8), direction="bidirectional", optional="bh", layout=1
        )
        yield _recurrent(f"{op} clipped", op, (4, 1, 8, 8), optional="b", clip=0.5)
        yield _recurrent(f"{op} long", op, (40, 70, 9, 3), optional="b")
        for layout, direction in ((0, "reverse"), (1, "bidirectional")):
            name = f"{op} of several lengths {direction}"
            attrs = {"layout": layout, "direction": direction}
            yield _recurrent(name, op, (6, 7, 3, 5), optional="s" + states, **attrs)
    yield _recurrent("peepholes", "LSTM", (5, 3, 4, 6), optional="bhcp")
    yield _recurrent("coupled gates", "LSTM", (5, 3, 4, 6), optional="bp", input_forget=1)
    yield _recurrent("reset behind", "GRU", (5, 3, 4, 6), optional="bh", linear_before_reset=1)
    yield _recurrent("reset, no bias", "GRU", (5, 3, 4, 6), linear_before_reset=1)
    for name in ACTIVATIONS:
        yield _recurrent(f"{name} in a cell", "RNN", (3, 2, 5, 7), activations=(name,))
    several = ("HardSigmoid", "Relu", "Softsign", "Sigmoid", "ScaledTanh", "Affine")
    yield _recurrent(
        "activations of each direction",
        "LSTM",
        (5, 2, 3, 4),
        direction="bidirectional",
        activations=several,
    )


EXTERN_TABLES: Mapping[str, tuple[Case, ...]] = {
    "recurrent": tuple(_recurrents()),
    "grid sample": tuple(_grid_samples()),
}
"""Cases by kind."""
