"""Results kept for values that are told by identity.

Read `by_identity` first. Programs and stages are large and immutable: to compare or to hash one
takes as long as what is to be saved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def by_identity(most: int) -> Callable[[Callable[[T], R]], Callable[[T], R]]:
    """Keep a function's results for the very same arguments.

    Args:
        most: Results kept at once; they are forgotten together.

    Returns:
        A decorator for a function of one immutable value.

    Example:
        >>> calls = []
        >>> @by_identity(2)
        ... def length(value: tuple[int, ...]) -> int:
        ...     calls.append(value)
        ...     return len(value)
        >>> value = (1, 2)
        >>> length(value) + length(value)
        4
        >>> calls
        [(1, 2)]
    """

    def decorate(function: Callable[[T], R]) -> Callable[[T], R]:
        kept: dict[int, tuple[T, R]] = {}  # holds its arguments, so that no number is used again

        @functools.wraps(function)
        def cached(value: T) -> R:
            entry = kept.get(id(value))
            if entry is not None:
                return entry[1]
            result = function(value)
            if len(kept) >= most:
                kept.clear()
            kept[id(value)] = value, result
            return result

        return cached

    return decorate
