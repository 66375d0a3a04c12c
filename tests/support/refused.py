"""What a test of a refusal states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Refused = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """What must be refused.

    Attributes:
        code: With which code.
        refused: The attempt.
        mark: The loop that the printed nest marks; None where the condition is about no loop.
    """

    code: str
    refused: Refused
    mark: str | None = None
