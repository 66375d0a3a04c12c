"""The rules of fusion as one table, and how an error is made of a broken one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ago.errors import FusionError

RULES: Mapping[str, str] = {
    "unknown-stage": "a plan names stages that write the result of a piece",
    "repeated-stage": "a stage is in one nest, once",
    "unknown-axis": "the shared axis is one of each result's",
    "bad-block": "a block divides the extent of the shared axis, in each result alike",
    "not-convex": "no path leaves the nest and comes back to it",
    "not-forward": "what an iteration reads is computed by it or by an earlier one",
    "reused": "nothing is read after its storage was reused",
    "shared-block": "what is computed in a block is read in that block alone",
    "incomplete": "a reduction is complete before its result is read",
    "results-apart": "a further result is written once, and read after the nest only",
    "unrelated": "each producer is read in the nest",
    "no-region": "what an iteration reads is a box in the producer's axes",
}
"""Every code of a `FusionError`, and the rule it stands for."""


def broken(
    code: str, operators: Sequence[str], loop: str, reason: str, hint: str = ""
) -> FusionError:
    """The error of a broken rule.

    Args:
        code: A key of `RULES`.
        operators: Stages at fault: producer, then consumer where there is one.
        loop: The shared loop.
        reason: What was asked and why it cannot be, with the numbers.
        hint: What would be legal.
    """
    return FusionError(code, operators, loop, f"{reason}\n  rule: {RULES[code]}", hint)
