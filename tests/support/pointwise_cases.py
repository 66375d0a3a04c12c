"""Cases of the operators that map elements: each on shapes of rank 0 to 5, with broadcasting.

Read `SPECS` first: operand types and attributes by operator; `pointwise_bodies` turns them into
graphs. Shapes rotate from case to case, so that all ranks meet all kinds of operators.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from ago.frontend import GraphBuilder, Value
from tests.support.cases import Body

SHAPES: Sequence[tuple[int, ...]] = (
    (17,),
    (),
    (2, 5, 7),
    (1, 17, 7, 9),
    (5, 9),
    (2, 3, 1, 5, 3),
)

PAIRS: Sequence[tuple[tuple[int, ...], tuple[int, ...]]] = (
    ((2, 5, 7), (2, 5, 7)),
    ((5, 3, 7, 9), (3, 1, 1)),
    ((5, 1), (17,)),
    ((), (3, 5)),
    ((2, 3, 1, 5, 3), (3, 4, 1, 3)),
    ((1,), ()),
    ((1, 5, 1, 9), (2, 1, 7, 1)),
)

REAL = (
    *("Sqrt", "Floor", "Ceil", "Round", "Exp", "Log", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan"),
    *("Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Erf", "Sigmoid", "Reciprocal"),
    *("HardSwish", "Softplus", "Softsign", "Mish"),
)

SPECS: Sequence[tuple[str, tuple[str, ...], dict[str, object]]] = (
    *((op, ("f32",), {}) for op in REAL),
    ("HardSigmoid", ("f32",), {"alpha": 0.2, "beta": 0.5}),
    ("HardSigmoid", ("f32",), {"alpha": 1.0 / 6.0, "beta": 0.5}),
    ("Elu", ("f32",), {"alpha": 0.75}),
    ("Selu", ("f32",), {"alpha": 1.67326, "gamma": 1.0507}),
    ("Selu", ("f32",), {"alpha": 2.0, "gamma": -3.0}),
    ("Celu", ("f32",), {"alpha": 2.0}),
    ("LeakyRelu", ("f32",), {"alpha": 0.01}),
    ("ThresholdedRelu", ("f32",), {"alpha": 0.5}),
    ("Gelu", ("f32",), {"approximate": "none"}),
    ("Gelu", ("f32",), {"approximate": "tanh"}),
    ("Swish", ("f32",), {"alpha": 1.0}),
    ("Swish", ("f32",), {"alpha": 1.702}),
    ("Shrink", ("f32",), {"lambd": 0.5, "bias": 0.25}),
    ("PRelu", ("f32", "f32"), {}),
    ("PRelu", ("i32", "i32"), {}),
    ("IsNaN", ("f32",), {}),
    *(
        ("IsInf", ("f32",), {"detect_negative": low, "detect_positive": high})
        for low, high in itertools.product((0, 1), repeat=2)
    ),
    *((op, (d,), {}) for op in ("Abs", "Sign") for d in ("f32", "i8", "u8", "i64", "f64")),
    *(("Neg", (d,), {}) for d in ("f32", "i8", "i32", "i64")),
    *(("Relu", (d,), {}) for d in ("i8", "i32", "f64")),
    *(("Identity", (d,), {}) for d in ("bool", "u8", "i64")),
    *(
        (op, (d, d), {})
        for op in ("Add", "Sub", "Mul", "Div", "Max", "Min")
        for d in ("f32", "i8", "u8", "i64", "f64")
    ),
    *(("Mod", (d, d), {"fmod": fmod}) for fmod in (0, 1) for d in ("f32", "i8", "u32", "i64")),
    ("Pow", ("f32", "f32"), {}),
    ("Pow", ("f32", "i32"), {}),
    ("Pow", ("i64", "u8"), {}),
    *((op, (d, d), {}) for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor") for d in ("u8", "i32")),
    *(("BitwiseNot", (d,), {}) for d in ("u8", "i64")),
    *(
        ("BitShift", (d, d), {"direction": direction})
        for direction in ("LEFT", "RIGHT")
        for d in ("u8", "u64")
    ),
    *(
        (op, (d, d), {})
        for op in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
        for d in ("f32", "i32", "u8")
    ),
    ("Equal", ("bool", "bool"), {}),
    *((op, ("bool", "bool"), {}) for op in ("And", "Or", "Xor")),
    ("Not", ("bool",), {}),
    *(("Where", ("bool", d, d), {}) for d in ("f32", "i64", "bool")),
    *(
        ("Cast", (source,), {"to": to})
        for source, to in itertools.permutations(("f32", "f64", "u8", "i64", "bool"), 2)
    ),
    *(("BitCast", (a,), {"to": b}) for a, b in (("f32", "i32"), ("u32", "f32"), ("u8", "i8"))),
)
"""Operator, element types of its operands, attributes."""


def pointwise_bodies() -> Iterator[tuple[str, Body]]:
    """Every spec on a shape, or on shapes that broadcast."""
    for number, (op, dtypes, attrs) in enumerate(SPECS):
        first = (SHAPES[number % len(SHAPES)],)
        pair = PAIRS[number % len(PAIRS)]
        shapes = {1: first, 2: pair, 3: (pair[0], *pair)}[len(dtypes)]
        text = " ".join(map(str, attrs.values()))
        yield f"{op} {' '.join(dtypes)} {text} {number}", _apply(op, shapes, dtypes, attrs)
    yield "leaky branch", _compared
    yield "chain of types", _chain


def _apply(
    op: str, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str], attrs: dict[str, object]
) -> Body:
    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        operands = [
            b.input(name, shape, dtype)
            for name, shape, dtype in zip("abc", shapes, dtypes, strict=False)
        ]
        return b.apply(op, *operands, **attrs)

    return body


def _compared(b: GraphBuilder, rng: np.random.Generator) -> Value:
    """Conditions that become lane masks: `x < y and not (x == z) ? x : y`."""
    x, y, z = (b.input(name, (3, 19)) for name in "xyz")
    less, equal = b.apply("Less", x, y), b.apply("Equal", x, z)
    condition = b.apply("Xor", b.apply("And", less, b.apply("Not", equal)), b.apply("Less", z, y))
    return b.apply("Where", b.apply("Or", condition, b.apply("IsNaN", z)), x, b.apply("Exp", y))


def _chain(b: GraphBuilder, rng: np.random.Generator) -> tuple[Value, ...]:
    """A convolution between integers: dequantised, clamped, quantised."""
    x = b.input("x", (1, 8, 7, 9), "u8")
    centred = b.sub(b.apply("Cast", x, to="f32"), 128.0)
    y = b.relu(b.conv(b.mul(centred, 0.03125), rng.integers(-4, 5, (16, 8, 3, 3)), pads=1))
    number = b.apply("Round", b.mul(y, 0.5))
    return b.apply("Cast", number, to="u8"), b.apply("Greater", y, b.constant(2.0))
