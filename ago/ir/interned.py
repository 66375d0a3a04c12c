"""Values of which there is one object each, so that they compare and hash by identity.

Read `Interned` first. Index expressions are compared, hashed and looked up far more often than they
are made. Where equal ones are the same object each of these costs one machine word, and a result
kept for an expression is found at once.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")

KEPT = 1 << 16
"""How many results are kept, the latest, of each function of expressions."""

_LOCK = threading.Lock()


class Interned(type):
    """The class of classes whose equal instances are one object.

    Instances are immutable, are made from positional arguments, and exist as long as someone uses
    them. Their class inherits `__eq__` and `__hash__` from `object`, and has a slot for weak
    references.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
        ... class Point(metaclass=Interned):
        ...     x: int
        ...     y: int = 0
        >>> Point(1) is Point(1, 0)
        True
    """

    _arity: int
    _defaults: tuple[object, ...]
    _known: WeakValueDictionary[tuple[object, ...], Any]

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Interned:
        """A class with no instances yet."""
        cls = super().__new__(mcs, name, bases, {**namespace, "__reduce__": _parts})
        init = namespace.get("__init__")  # missing as long as `dataclass` has not written it
        cls._arity = init.__code__.co_argcount - 1 if init else 0
        cls._defaults = (init.__defaults__ or ()) if init else ()
        cls._known = WeakValueDictionary()
        return cls

    def __call__(cls, *args: object) -> Any:  # noqa: ANN401
        """The instance with these arguments: the one there is, or a new one."""
        missing = cls._arity - len(args)
        if missing > 0:
            args += cls._defaults[-missing:]
        found = cls._known.get(args)
        if found is not None:
            return found
        made = super().__call__(*args)
        with _LOCK:
            return cls._known.setdefault(args, made)


def _parts(self: Any) -> tuple[type, tuple[object, ...]]:  # noqa: ANN401
    """What a copy or a pickle is made from: the class is called again."""
    return type(self), tuple(getattr(self, name) for name in self.__match_args__)
