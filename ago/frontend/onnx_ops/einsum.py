"""ONNX's Einsum.

Read `einsum` first. Invariant: ellipses and implicit results become letters here, and more than two
operands become products of two.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import Context, Expansion, RefusalError, Translator, str_attr
from ago.frontend.raw import RawNode
from ago.ir.ops.einsum import Equation


def einsum(node: RawNode, context: Context) -> Expansion:
    """`Einsum`, all versions: pair by pair, each letter summed as soon as no one else needs it."""
    text = "".join(str_attr(node, "equation", "").split())
    ranks = [context.type(value).rank for value in node.inputs]
    equation = explicit(text, ranks)
    parts = Expansion(node, context)
    value, letters = node.inputs[0], equation.operands[0]
    for number, (other, more) in enumerate(
        zip(node.inputs[1:-1], equation.operands[1:-1], strict=True), start=1
    ):
        needed = {*equation.result, *"".join(equation.operands[number + 1 :])}
        kept = "".join(c for c in dict.fromkeys(letters + more) if c in needed)
        pair = Equation((letters, more), kept)
        value = parts.add(f"product_{number}", "Einsum", value, other, equation=str(pair))
        letters = kept
    last = tuple(node.inputs[1:][-1:])
    rest = Equation((letters, *equation.operands[1:][-1:]), equation.result)
    return parts.result("Einsum", value, *last, equation=str(rest))


def explicit(text: str, ranks: Sequence[int]) -> Equation:
    """The equation with a letter an axis, and with its result.

    Args:
        text: The equation without spaces.
        ranks: Ranks of its operands.

    Raises:
        ModelError: If it does not fit the operands.
        RefusalError: If letters run out.
    """
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ModelError(f"equation {text!r} is one of {len(terms)} operands, not {len(ranks)}")
    named = [term.replace("...", "") for term in terms]
    if not all(
        c in string.ascii_letters for term in (*named, right.replace("...", "")) for c in term
    ):
        raise ModelError(f"equation {text!r} is not made of letters, ellipses, ',' and '->'")
    hidden = [
        rank - len(own) if "..." in term else 0
        for term, own, rank in zip(terms, named, ranks, strict=True)
    ]
    free = [c for c in string.ascii_letters if c not in text]
    if max(hidden) > len(free):
        raise RefusalError(f"equation {text!r} leaves no letters for its ellipses")
    if min(hidden) < 0:
        raise ModelError(f"equation {text!r} names more axes than its operands have")
    dots = "".join(free[: max(hidden)])
    operands = tuple(
        term.replace("...", dots[len(dots) - count :])
        for term, count in zip(terms, hidden, strict=True)
    )
    if not arrow:
        counts = Counter("".join(named))
        right = "..." + "".join(sorted(c for c, count in counts.items() if count == 1))
    return Equation(operands, right.replace("...", dots))


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {"Einsum": ((12, einsum),)}
