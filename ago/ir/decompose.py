"""Splits whole reductions into an initialisation nest and an update nest.

`decompose` is shared by the interpreter's printer and the code generator, so both agree on where a
reduction starts: in front of the outermost loop that iterates over it.
"""

from __future__ import annotations

from dataclasses import replace

from ago.ir.index import variables
from ago.ir.nest import For, If, Reduce, Stmt, Store, Update, rewrite, walk
from ago.ir.reindexing import rename_loops

INIT_SUFFIX = ".init"


def decompose(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Replace every `Reduce` below `body` by an initialising `Store` and an `Update`.

    The initialisation repeats the spatial loops found inside the outermost reduce loop, under names
    that end in `.init`. A reduction without loops becomes both statements in place.

    Args:
        body: Statements of a program.

    Returns:
        Statements without any `Reduce`.
    """

    def change(stmt: Stmt) -> tuple[Stmt, ...] | None:
        if isinstance(stmt, Reduce):
            return _split_leaf(stmt)
        if not isinstance(stmt, For):
            return None
        here = [
            leaf for leaf in walk(stmt.body) if isinstance(leaf, Reduce) and stmt.name in leaf.loops
        ]
        if not here:
            return None
        inits = [init for leaf in here for init in _named(init_nest(stmt.body, leaf))]
        done = set(map(id, here))
        updated = _update(stmt, done)
        return (*inits, *rewrite((updated,), lambda s: None if s is updated else change(s)))

    return rewrite(body, change)


def _split_leaf(leaf: Reduce) -> tuple[Stmt, ...]:
    return (Store(leaf.stage, leaf.buffer, leaf.index, leaf.init), as_update(leaf))


def as_update(leaf: Reduce) -> Update:
    """One step of `leaf`, without its initialisation."""
    return Update(leaf.stage, leaf.buffer, leaf.index, leaf.function, leaf.value)


def _update(loop: For, done: set[int]) -> For:
    def change(stmt: Stmt) -> tuple[Stmt, ...] | None:
        return (as_update(stmt),) if isinstance(stmt, Reduce) and id(stmt) in done else None

    return replace(loop, body=rewrite(loop.body, change))


def _named(init: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """An initialisation under the names that are its own."""
    loops = [stmt.name for stmt in walk(init) if isinstance(stmt, For)]
    return rename_loops(init, {name: name + INIT_SUFFIX for name in loops})


def init_nest(body: tuple[Stmt, ...], leaf: Reduce) -> tuple[Stmt, ...]:
    """The initialisation of `leaf` inside those loops and guards of `body` that do not reduce.

    Args:
        body: Statements that hold `leaf`.
        leaf: A whole reduction.

    Returns:
        Statements whose loops have the names of those in `body`.
    """
    for stmt in body:
        if stmt is leaf:
            return (Store(leaf.stage, leaf.buffer, leaf.index, leaf.init),)
        if not isinstance(stmt, For | If):
            continue
        inner = init_nest(stmt.body, leaf)
        if not inner:
            continue
        if isinstance(stmt, If):
            kept = tuple(c for c in stmt.condition if not variables(c) & set(leaf.loops))
            return (If(kept, inner),) if kept else inner
        return inner if stmt.name in leaf.loops else (replace(stmt, body=inner),)
    return ()
