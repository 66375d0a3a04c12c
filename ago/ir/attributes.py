"""Operator attributes: an immutable mapping and typed readers.

Read `FrozenMap` first. Invariant: lists become tuples on the way in, so a map never changes after
construction, pickles, and compares by value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class FrozenMap(Mapping[str, object]):
    """An immutable mapping from names to plain values, in the order of its keys.

    Args:
        items: The entries; lists are stored as tuples.

    Example:
        >>> FrozenMap({"strides": [2, 2], "group": 1})
        FrozenMap({'group': 1, 'strides': (2, 2)})
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, object]) -> None:
        self._items: dict[str, object] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in sorted(items.items())
        }

    def __getitem__(self, key: str) -> object:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __repr__(self) -> str:
        return f"FrozenMap({self._items!r})"


def read_int(attrs: Mapping[str, object], name: str) -> int:
    """Return the integer attribute `name`.

    Raises:
        TypeError: If it is no integer.
    """
    value = attrs[name]
    if not isinstance(value, int):
        raise TypeError(f"attribute {name!r} must be an integer, not {value!r}")
    return int(value)


def read_float(attrs: Mapping[str, object], name: str) -> float:
    """Return the numeric attribute `name` as a float.

    Raises:
        TypeError: If it is no number.
    """
    value = attrs[name]
    if not isinstance(value, int | float):
        raise TypeError(f"attribute {name!r} must be a number, not {value!r}")
    return float(value)


def read_ints(attrs: Mapping[str, object], name: str) -> tuple[int, ...]:
    """Return the attribute `name`, a sequence of integers.

    Raises:
        TypeError: If it is anything else.
    """
    value = attrs[name]
    if not isinstance(value, tuple | list) or not all(isinstance(item, int) for item in value):
        raise TypeError(f"attribute {name!r} must be a sequence of integers, not {value!r}")
    return tuple(value)


def read_str(attrs: Mapping[str, object], name: str) -> str:
    """Return the attribute `name`, a string.

    Raises:
        TypeError: If it is none.
    """
    value = attrs[name]
    if not isinstance(value, str):
        raise TypeError(f"attribute {name!r} must be a string, not {value!r}")
    return value


def read_strs(attrs: Mapping[str, object], name: str) -> tuple[str, ...]:
    """Return the attribute `name`, a sequence of strings.

    Raises:
        TypeError: If it is anything else.
    """
    value = attrs[name]
    if not isinstance(value, tuple | list) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"attribute {name!r} must be a sequence of strings, not {value!r}")
    return tuple(value)


def read_floats(attrs: Mapping[str, object], name: str) -> tuple[float, ...]:
    """Return the attribute `name`, a sequence of numbers, as floats.

    Raises:
        TypeError: If it is anything else.
    """
    value = attrs[name]
    numbers = isinstance(value, tuple | list) and all(isinstance(v, int | float) for v in value)
    if not isinstance(value, tuple | list) or not numbers:
        raise TypeError(f"attribute {name!r} must be a sequence of numbers, not {value!r}")
    return tuple(float(item) for item in value)
