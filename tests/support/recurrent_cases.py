"""Cases of RNN, GRU and LSTM. Read `recurrent_cases` first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ago.ir.ops.recurrent import ACTIVATIONS
from tests.support.cases import Case
from tests.support.node_cases import node_case, normal


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
        normal(1, batch, steps, size) if layout else normal(1, steps, batch, size),
        0.4 * normal(2, count, gates * hidden, size),
        0.4 * normal(3, count, gates * hidden, hidden),
        normal(4, count, 2 * gates * hidden) if "b" in optional else None,
        lengths if "s" in optional else None,
        normal(5, *state) if "h" in optional else None,
        normal(6, *state) if "c" in optional else None,
        normal(7, count, 3 * hidden) if "p" in optional else None,
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


def recurrent_cases() -> Iterator[Case]:
    """All options, alone and together."""
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
