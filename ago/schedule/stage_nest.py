"""The naive nest of a stage over a part of its domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ago.ir.index import Index, var
from ago.ir.nest import For, Stage, Stmt
from ago.ir.reindexing import substitute_body


@dataclass(frozen=True, slots=True)
class Span:
    """A part of an axis: where it starts, and how many points it has."""

    low: Index
    extent: Index


def stage_nest(stage: Stage, spans: Mapping[str, Span]) -> Stmt:
    """The naive nest of `stage` over `spans`, by loop name, and the whole of all other axes.

    Loops keep their names; those over a span start at 0 and are relative to it.
    """
    offsets = {name: span.low + var(name) for name, span in spans.items()}
    inner = stage.nest()
    loops: list[For] = []
    while isinstance(inner, For):
        loops.append(inner)
        (inner,) = inner.body
    body: tuple[Stmt, ...] = substitute_body((inner,), offsets)
    for loop in reversed(loops):
        extent = spans[loop.name].extent if loop.name in spans else loop.hi
        body = (replace(loop, hi=extent, body=body),)
    return body[0]
