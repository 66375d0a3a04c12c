"""Options of a compilation, validated once."""

from __future__ import annotations

from dataclasses import dataclass

from ago.errors import InputError
from ago.target import Target

MAX_THREADS = 256
"""Most threads of one inference."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile a graph.

    Attributes:
        target: The CPU to compile for.
        threads: Threads that one inference may use.
        intensive_fusion: Whether one loop nest may hold several convolutions or matrix products.
    """

    target: Target
    threads: int = 1
    intensive_fusion: bool = True

    def __post_init__(self) -> None:
        if type(self.threads) is not int or not 1 <= self.threads <= MAX_THREADS:
            raise InputError(f"threads={self.threads!r}: expected 1 to {MAX_THREADS}")
        if not isinstance(self.intensive_fusion, bool):
            raise InputError(f"intensive_fusion={self.intensive_fusion!r}: expected True or False")
