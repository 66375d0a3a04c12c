"""Splits whole reductions into an initialisation nest and an update nest.

`decompose` is shared by the interpreter's printer and the code generator, so both agree on where a
reduction starts: in front of the outermost loop that iterates over it.
"""

from __future__ import annotations

from dataclasses import replace

from ago.ir.index import variables
from ago.ir.nest import For, If, Reduce, Stmt, Store, Update, rename_loops, rewrite, walk

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
        inits = [init for leaf in here for init in _init_nest(stmt.body, leaf)]
        done = set(map(id, here))
        updated = _update(stmt, done)
        return (*inits, *rewrite((updated,), lambda s: None if s is updated else change(s)))

    return rewrite(body, change)


def _split_leaf(leaf: Reduce) -> tuple[Stmt, ...]:
    return (Store(leaf.stage, leaf.buffer, leaf.index, leaf.init), _as_update(leaf))


def _as_update(leaf: Reduce) -> Update:
    return Update(leaf.stage, leaf.buffer, leaf.index, leaf.function, leaf.value)


def _update(loop: For, done: set[int]) -> For:
    def change(stmt: Stmt) -> tuple[Stmt, ...] | None:
        return (_as_update(stmt),) if isinstance(stmt, Reduce) and id(stmt) in done else None

    return replace(loop, body=rewrite(loop.body, change))


def _init_nest(body: tuple[Stmt, ...], leaf: Reduce) -> tuple[Stmt, ...]:
    """The initialisation of `leaf` inside those loops and guards of `body` that do not reduce."""
    for stmt in body:
        if stmt is leaf:
            return (Store(leaf.stage, leaf.buffer, leaf.index, leaf.init),)
        if not isinstance(stmt, For | If):
            continue
        inner = _init_nest(stmt.body, leaf)
        if not inner:
            continue
        if isinstance(stmt, If):
            kept = tuple(c for c in stmt.condition if not variables(c) & set(leaf.loops))
            return (If(kept, inner),) if kept else inner
        if stmt.name in leaf.loops:
            return inner
        return rename_loops((replace(stmt, body=inner),), {stmt.name: stmt.name + INIT_SUFFIX})
    return ()
