"""Cases of every extern, in tables by kind, on random numbers, odd sizes and hostile indices.

Read `EXTERN_TABLES` first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tests.support.cases import Case
from tests.support.index_cases import (
    gather_cases,
    one_hot_cases,
    order_cases,
    scatter_cases,
    sequence_cases,
    suppression_cases,
)
from tests.support.recurrent_cases import recurrent_cases
from tests.support.region_cases import (
    deform_conv_cases,
    fold_cases,
    grid_sample_cases,
    roi_align_cases,
)

_KINDS: Mapping[str, Callable[[], Iterator[Case]]] = {
    "gather": gather_cases,
    "scatter": scatter_cases,
    "one hot": one_hot_cases,
    "order": order_cases,
    "suppression": suppression_cases,
    "sequence": sequence_cases,
    "recurrent": recurrent_cases,
    "grid sample": grid_sample_cases,
    "region": roi_align_cases,
    "deformed": deform_conv_cases,
    "fold": fold_cases,
}

EXTERN_TABLES: Mapping[str, tuple[Case, ...]] = {
    kind: tuple(replace(case, name=f"{kind} {case.name}") for case in cases())
    for kind, cases in _KINDS.items()
}
"""Cases by kind; their names are distinct."""
