"""Python and C identifiers for the names of loops and buffers.

Loops are called `conv.y.0` and buffers may carry any text. `loop_identifiers` and
`buffer_identifiers` map them to valid names that differ from each other and from the words that the
printed text uses itself, and that are the same on every run.
"""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Iterable, Set

WORDS = frozenset({"grid", "range", "min", "max", "inf", "nan"})
"""Names that printed text uses and that no loop or buffer may take; so is all of `ir_...`."""


def identifier(name: str) -> str:
    """`name` with every character that an identifier cannot hold replaced by `_`."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    taken = keyword.iskeyword(text) or text in WORDS or text.startswith("ir_")
    return f"_{text}" if taken or text[0].isdigit() else text


def buffer_identifiers(names: Iterable[str]) -> dict[str, str]:
    """A distinct identifier for each buffer, as close to its name as can be."""
    chosen: dict[str, str] = {}
    for name in names:
        chosen.setdefault(name, _first_free([identifier(name)], set(chosen.values())))
    return chosen


def loop_identifiers(names: Iterable[str], taken: Set[str] = frozenset()) -> dict[str, str]:
    """A distinct identifier for each loop: `y_0` for `conv.y.0` where no other loop wants it.

    Args:
        names: Loop names; repetitions are one loop.
        taken: Identifiers that are in use.

    Returns:
        Identifier of each loop, by name.
    """
    distinct = list(dict.fromkeys(names))
    wanted = Counter(_short(name) for name in distinct)
    chosen: dict[str, str] = {}
    for name in distinct:
        short = _short(name)
        candidates = [identifier(name)] if wanted[short] > 1 else [short, identifier(name)]
        chosen[name] = _first_free(candidates, taken | set(chosen.values()))
    return chosen


def _short(name: str) -> str:
    """The identifier of a loop's name without its stage."""
    _, _, rest = name.partition(".")
    return identifier(rest or name)


def _first_free(candidates: list[str], taken: Set[str]) -> str:
    for candidate in candidates:
        if candidate not in taken:
            return candidate
    number = 2
    while f"{candidates[-1]}_{number}" in taken:
        number += 1
    return f"{candidates[-1]}_{number}"
