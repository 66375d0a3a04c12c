"""Options of a compilation, validated once."""

from __future__ import annotations

import math
import os
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


def require_count(name: str, value: object) -> None:
    """Refuse what is no whole number from 0.

    Raises:
        InputError: Names the option.
    """
    if type(value) is not int or value < 0:
        raise InputError(f"{name}={value!r}: expected a whole number, 0 or more")


def require_amount(name: str, value: object) -> None:
    """Refuse what is no finite number from 0.

    Raises:
        InputError: Names the option.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise InputError(f"{name}={value!r}: expected a finite number, 0 or more")


def require_path(name: str, value: object) -> None:
    """Refuse what names no file.

    Raises:
        InputError: Names the option.
    """
    if not isinstance(value, str | os.PathLike):
        raise InputError(f"{name}={value!r}: expected the path of a file")
