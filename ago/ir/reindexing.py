"""Statements with other indices: variables substituted, loops renamed, accesses moved.

Read `substitute_body` first. Each function returns new statements and shares those that it leaves
as they are, but for `rename_loops`: a copy has no statement in common with what it was copied from.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace

from ago.ir.identity import by_identity
from ago.ir.index import Index, substitute, var, variables
from ago.ir.nest import For, If, Leaf, Prefetch, Reduce, Stmt, Store, Update, rewrite, uses_buffer
from ago.ir.value import Load, Value, map_each, map_indices, map_value, value_indices


def map_stmt_indices(stmt: Stmt, change: Callable[[Index], Index]) -> Stmt:
    """`stmt` with every index in it, also of values and of statements below, replaced.

    All statements are new ones, so that a copy shares none with what it was copied from.
    """
    match stmt:
        case For(name, lo, hi, kind, body):
            inner = tuple([map_stmt_indices(s, change) for s in body])
            return For(name, change(lo), change(hi), kind, inner)
        case If(condition, body):
            inner = tuple([map_stmt_indices(s, change) for s in body])
            return If(map_each(condition, change), inner)
        case Prefetch(buffer, index):
            return Prefetch(buffer, map_each(index, change))
        case Store(stage, buffer, index, value):
            return Store(stage, buffer, map_each(index, change), map_indices(value, change))
        case Update(stage, buffer, index, function, value):
            mapped = map_indices(value, change)
            return Update(stage, buffer, map_each(index, change), function, mapped)
        case Reduce():
            index, value = map_each(stmt.index, change), map_indices(stmt.value, change)
            return replace(stmt, index=index, value=value, init=map_indices(stmt.init, change))


def substitute_body(body: tuple[Stmt, ...], replacements: Mapping[str, Index]) -> tuple[Stmt, ...]:
    """`body` with loop variables replaced by indices; loops keep their names.

    Statements that mention none of the variables are shared.
    """
    changed = tuple([_substitute_stmt(stmt, replacements) for stmt in body])
    return body if all(map(operator.is_, changed, body)) else changed


def _substitute_stmt(stmt: Stmt, replacements: Mapping[str, Index]) -> Stmt:
    if isinstance(stmt, For):
        lo, hi = substitute(stmt.lo, replacements), substitute(stmt.hi, replacements)
        body = substitute_body(stmt.body, replacements)
        if lo is stmt.lo and hi is stmt.hi and body is stmt.body:
            return stmt
        return For(stmt.name, lo, hi, stmt.kind, body)
    if isinstance(stmt, If):
        guards = map_each(stmt.condition, lambda i: substitute(i, replacements))
        body = substitute_body(stmt.body, replacements)
        same = guards is stmt.condition and body is stmt.body
        return stmt if same else If(guards, body)
    if leaf_variables(stmt).isdisjoint(replacements):
        return stmt
    return map_stmt_indices(stmt, lambda i: substitute(i, replacements))


@by_identity(1 << 11)
def leaf_variables(leaf: Leaf | Prefetch) -> frozenset[str]:
    """Names of all loop variables that a statement mentions."""
    indices = list(leaf.index)
    if not isinstance(leaf, Prefetch):
        indices += value_indices(leaf.value)
    if isinstance(leaf, Reduce):
        indices += value_indices(leaf.init)
    return frozenset().union(*map(variables, indices))


def rename_loops(body: tuple[Stmt, ...], names: Mapping[str, str]) -> tuple[Stmt, ...]:
    """`body` with loops, their variables and the reductions' loop lists renamed."""

    def change(stmt: Stmt) -> tuple[Stmt, ...] | None:
        if isinstance(stmt, For) and stmt.name in names:
            return (replace(stmt, name=names[stmt.name], body=rewrite(stmt.body, change)),)
        if isinstance(stmt, Reduce) and any(loop in names for loop in stmt.loops):
            return (replace(stmt, loops=tuple(names.get(n, n) for n in stmt.loops)),)
        return None

    variables_of = {old: var(new) for old, new in names.items()}
    renamed = rewrite(body, change)
    return tuple([map_stmt_indices(s, lambda i: substitute(i, variables_of)) for s in renamed])


def reindex(
    body: tuple[Stmt, ...],
    buffer: str,
    change: Callable[[tuple[Index, ...]], tuple[Index, ...]],
    to: str | None = None,
) -> tuple[Stmt, ...]:
    """`body` with the whole index of every access to `buffer`, loads and stores, replaced.

    Args:
        body: Statements.
        buffer: Name of the buffer.
        change: The new index for an old one.
        to: Name of the buffer that is accessed instead; by default the same.
    """
    name = to or buffer

    def load(value: Value) -> Value | None:
        if isinstance(value, Load) and value.buffer == buffer:
            return Load(name, change(value.index))
        return None

    def leaf(stmt: Stmt) -> tuple[Stmt, ...] | None:
        if not isinstance(stmt, Leaf) or not uses_buffer(stmt, buffer):
            return None
        value = map_value(stmt.value, load)
        moved = replace(stmt, value=value)
        if isinstance(stmt, Reduce):
            moved = replace(stmt, value=value, init=map_value(stmt.init, load))
        if stmt.buffer == buffer:
            moved = replace(moved, buffer=name, index=change(stmt.index))
        return (moved,)

    return rewrite(body, leaf)
