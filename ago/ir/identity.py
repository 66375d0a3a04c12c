"""Results kept for values that are told by identity.

Read `by_identity` first. Programs and stages are large and immutable: to compare or to hash one
takes as long as what is to be saved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Concatenate, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")

_Function = Callable[Concatenate[T, P], R]

_Kept = dict[int, tuple[T, dict[Hashable, R]]]
"""Values by their number, each with results. It holds the values, so that no number comes again."""

_FORGETTING: list[Callable[[], None]] = []
"""What empties the results of each function."""


def by_identity(most: int) -> Callable[[_Function[T, P, R]], _Function[T, P, R]]:
    """Keep a function's results for the very same first argument, and equal others.

    Args:
        most: First arguments of which results are kept: the latest, up to twice as many. Those
            that were not asked for since as many others were are forgotten.

    Returns:
        A decorator for a function of an immutable value and of hashable ones.

    Example:
        >>> calls = []
        >>> @by_identity(2)
        ... def longer(value: tuple[int, ...], than: int = 0) -> bool:
        ...     calls.append(than)
        ...     return len(value) > than
        >>> value = (1, 2)
        >>> longer(value), longer(value), longer(value, 2), longer(value, 2)
        (True, True, False, False)
        >>> calls
        [0, 2]
    """

    def decorate(function: _Function[T, P, R]) -> _Function[T, P, R]:
        young: _Kept[T, R] = {}
        old: _Kept[T, R] = {}

        def forget_all() -> None:
            young.clear()
            old.clear()

        def entry_of(value: T) -> tuple[T, dict[Hashable, R]]:
            nonlocal young, old
            entry = old.get(id(value)) or (value, {})
            if len(young) >= most:
                old, young = young, {}
            young[id(value)] = entry
            return entry

        @functools.wraps(function)
        def cached(value: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
            _, results = young.get(id(value)) or entry_of(value)
            key = (args, *kwargs.items()) if kwargs else args
            if key not in results:
                results[key] = function(value, *args, **kwargs)
            return results[key]

        _FORGETTING.append(forget_all)
        return cached

    return decorate


def forget() -> None:
    """Forget all results, as in a new process: for tests that change what functions do."""
    for forget_all in _FORGETTING:
        forget_all()
