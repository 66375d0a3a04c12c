"""Random steps of a schedule: a primitive and arguments, mostly sensible and often illegal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from hypothesis import strategies as st

from ago.ir.index import variables
from ago.ir.nest import For, If, leaf_loads, leaves, path_to
from ago.ir.program import Program
from ago.schedule.split import Tail
from ago.schedule.tree import loop_names, reads

Step = tuple[str, tuple[object, ...]]
"""Name of a primitive and its arguments."""

Draw = Callable[[st.SearchStrategy[Any]], Any]

TAILS = [*get_args(Tail), "wrong"]


def draw_step(
    draw: Draw, program: Program, name: str | None = None, subject: str | None = None
) -> Step:
    """A step on `program`.

    Args:
        draw: Draws from a strategy.
        program: The program.
        name: The primitive; any for None.
        subject: Its first argument, a stage or buffer, of placing primitives; any for None.
    """
    name = name or draw(st.sampled_from(sorted(_ARGUMENTS)))
    placing = {
        "compute_at": _compute_at,
        "fold_storage": _fold_storage,
        "privatize": _privatize,
        "slide": _slide,
        "store_at": _store_at,
    }
    if name in placing:
        return name, placing[name](draw, program, subject)
    return name, _ARGUMENTS[name](draw, program)


def perfect_nest(program: Program, loop: str) -> list[str]:
    """Names of `loop` and of the loops perfectly nested in it."""
    names = []
    (*_, stmt) = path_to(program.body, loop) or (None,)
    while isinstance(stmt, For | If):
        if isinstance(stmt, For):
            names.append(stmt.name)
        if len(stmt.body) != 1:
            break
        (stmt,) = stmt.body
    return names


def _one(draw: Draw, candidates: Sequence[object]) -> object:
    return draw(st.sampled_from(list(candidates)))


def _loop(draw: Draw, program: Program) -> object:
    return _one(draw, [*loop_names(program), "no.loop"])


def _stage(draw: Draw, program: Program) -> object:
    """Later stages are more likely: schedules go from consumer to producer."""
    return _one(draw, [s.name for s in reversed(program.stages)])


def _split(draw: Draw, program: Program) -> tuple[object, ...]:
    factor = draw(st.sampled_from([2, 3, 1, 4, 5, 9, 0]))
    return _loop(draw, program), factor, _one(draw, TAILS)


def _reorder(draw: Draw, program: Program) -> tuple[object, ...]:
    nest = perfect_nest(program, str(_loop(draw, program)))
    chosen = draw(st.permutations(nest)) if nest else []
    chosen = chosen[: draw(st.sampled_from([len(chosen), len(chosen), 2, 1]))]
    wrong: list[list[object]] = [[], [], [], [], ["no.loop"], chosen[:1], [loop_names(program)[0]]]
    return ((*chosen, *_one(draw, wrong)),)


def _compute_at(draw: Draw, program: Program, stage: str | None = None) -> tuple[object, ...]:
    stage = stage or _stage(draw, program)
    buffer = program.stage(str(stage)).buffer
    readers = [n for n in loop_names(program) if reads(path_to(program.body, n)[-1].body, buffer)]
    return stage, _one(draw, [*readers, *loop_names(program)[:1]])


def _store_at(draw: Draw, program: Program, buffer: str | None = None) -> tuple[object, ...]:
    moved = [b.name for b in program.buffers if b.scope not in ("input", "output", "constant")]
    buffer = buffer or _one(draw, [*moved, program.buffers[0].name])
    homes = [
        name
        for name in loop_names(program)
        if any(leaf.buffer == buffer for leaf in leaves(path_to(program.body, name)[-1].body))
    ]
    home = _one(draw, [*homes, *loop_names(program)[:1]])
    return buffer, home, _one(draw, ["register", "stack", "workspace", "wrong"])


def _pack(draw: Draw, program: Program) -> tuple[object, ...]:
    constants = [b.name for b in program.buffers if b.scope == "constant"]
    buffer = _one(draw, [*constants, program.buffers[0].name])
    used = {
        name
        for leaf in leaves(program.body)
        for load, guard in leaf_loads(leaf)
        if load.buffer == buffer
        for index in (*load.index, *guard)
        for name in variables(index)
    }
    loops = draw(st.permutations(sorted(used)))
    return buffer, (*loops, *draw(st.sampled_from([(), (), (), loop_names(program)[-1:]])))


def _partition_loop(draw: Draw, program: Program) -> tuple[object, ...]:
    return _loop(draw, program), draw(st.integers(0, 3)), draw(st.integers(1, 5))


def _collapse(draw: Draw, program: Program) -> tuple[object, ...]:
    stage = str(_stage(draw, program))
    axes = [a.name for a in program.stage(stage).axes]
    first = draw(st.integers(0, max(len(axes) - 2, 0)))
    return stage, axes[first], axes[min(first + 1, len(axes) - 1)]


def _divide_axis(draw: Draw, program: Program) -> tuple[object, ...]:
    stage = str(_stage(draw, program))
    axes = [a.name for a in program.stage(stage).axes]
    axis = _one(draw, [*axes, "none"])
    return stage, axis, draw(st.sampled_from([1, 2, 3, 5, 7, 0])), draw(st.integers(0, 2))


def _round_axis(draw: Draw, program: Program) -> tuple[object, ...]:
    stage = str(_stage(draw, program))
    axes = [a.name for a in program.stage(stage).axes]
    return stage, _one(draw, [*reversed(axes), "none"]), draw(st.sampled_from([4, 2, 8, 0]))


def _buffer(draw: Draw, program: Program) -> object:
    """Later buffers are more likely: intermediate ones stand last."""
    return _one(draw, [b.name for b in reversed(program.buffers)])


def _nested_loop(draw: Draw, program: Program) -> object:
    """A loop around some others, not always."""
    names = loop_names(program)
    return _one(draw, [n for n in names if len(perfect_nest(program, n)) > 1] or names)


def _fuse_axes(draw: Draw, program: Program) -> tuple[object, ...]:
    nest = perfect_nest(program, str(_nested_loop(draw, program)))
    return nest[0], nest[min(draw(st.sampled_from([1, 1, 1, 2])), len(nest) - 1)]


def _reverse_compute_at(draw: Draw, program: Program) -> tuple[object, ...]:
    stage = str(_one(draw, [s.name for s in program.stages]))
    read = {load.buffer for load, _ in leaf_loads(program.stage(stage).leaf())}
    homes = [
        name
        for name in loop_names(program)
        if any(leaf.buffer in read for leaf in leaves(path_to(program.body, name)[-1].body))
    ]
    return stage, _one(draw, homes or loop_names(program))


def _compute_with(draw: Draw, program: Program) -> tuple[object, ...]:
    stage = str(_one(draw, [s.name for s in program.stages[:-1]] or [program.stages[0].name]))
    loop = str(_one(draw, loop_names(program)))
    around = path_to(program.body, loop)
    own = [a.name for a in program.stage(stage).axes if a.kind == "spatial"]
    axes = own if draw(st.integers(0, 3)) else draw(st.permutations(own))
    return stage, loop, tuple(axes[: len(around)])


def _cache_read(draw: Draw, program: Program) -> tuple[object, ...]:
    stage = str(_stage(draw, program))
    read = {load.buffer for load, _ in leaf_loads(program.stage(stage).leaf())}
    return _one(draw, [*sorted(read), program.buffers[0].name]), stage


def _set_scope(draw: Draw, program: Program) -> tuple[object, ...]:
    return _buffer(draw, program), _one(draw, ["stack", "register", "workspace", "wrong"])


def _stage_mem(draw: Draw, program: Program) -> tuple[object, ...]:
    return _buffer(draw, program), _loop(draw, program), _one(draw, ["stack", "workspace"])


def _transform_layout(draw: Draw, program: Program) -> tuple[object, ...]:
    buffer = str(_buffer(draw, program))
    names = [f"d{place}" for place in range(len(program.buffer(buffer).shape))]
    parts = []
    for name in names:
        factor = draw(st.sampled_from([0, 0, 2, 3]))
        parts += [f"{name}//{factor}", f"{name}%{factor}"] if factor else [name]
    new = draw(st.permutations(parts)) if parts else []
    return buffer, " ".join([*names, _one(draw, ["->", "->", "->", ""]), *new])


def _rfactor(draw: Draw, program: Program) -> tuple[object, ...]:
    stage = str(_stage(draw, program))
    axes = [a.name for a in program.stage(stage).axes]
    return stage, _one(draw, [*reversed(axes), "none"]), draw(st.sampled_from([2, 3, 1, 0]))


def _prefetch(draw: Draw, program: Program) -> tuple[object, ...]:
    names = [b.name for b in program.buffers if b.scope in ("input", "constant")]
    buffer = _one(draw, [*names, program.buffers[-1].name])
    return buffer, _loop(draw, program), draw(st.sampled_from([1, 2, 0]))


def _stage_and_loop(draw: Draw, program: Program) -> tuple[object, ...]:
    stage = str(_stage(draw, program))
    own = [n for n in loop_names(program) if n.startswith(f"{stage}.")]
    return stage, _one(draw, own or loop_names(program))


def _slide(draw: Draw, program: Program, stage: str | None = None) -> tuple[object, ...]:
    stage = stage or str(_stage(draw, program))
    axes = [a.name for a in program.stage(stage).axes]
    axis = _one(draw, [*axes, "none"])
    path = path_to(program.body, f"{stage}.{axis}") or ()
    around = [stmt.name for stmt in path[:-1] if isinstance(stmt, For)]
    return stage, axis, _one(draw, around or loop_names(program))


def _fold_storage(draw: Draw, program: Program, name: str | None = None) -> tuple[object, ...]:
    buffer, home, _ = _store_at(draw, program, name)
    return buffer, draw(st.integers(0, len(program.buffer(str(buffer)).shape))), home


def _privatize(draw: Draw, program: Program, name: str | None = None) -> tuple[object, ...]:
    buffer, home, _ = _store_at(draw, program, name)
    return buffer, home


def _only_loop(draw: Draw, program: Program) -> tuple[object, ...]:
    return (_loop(draw, program),)


def _only_stage(draw: Draw, program: Program) -> tuple[object, ...]:
    return (_stage(draw, program),)


_ARGUMENTS: Mapping[str, Callable[[Draw, Program], tuple[object, ...]]] = {
    "cache_read": _cache_read,
    "cache_write": _only_stage,
    "collapse": _collapse,
    "compute_at": _compute_at,
    "compute_with": _compute_with,
    "decompose_reduction": _stage_and_loop,
    "divide_axis": _divide_axis,
    "fold_storage": _fold_storage,
    "fuse_axes": _fuse_axes,
    "inline": _only_stage,
    "pack": _pack,
    "parallel": _only_loop,
    "partition_loop": _partition_loop,
    "peel": _only_loop,
    "prefetch": _prefetch,
    "privatize": _privatize,
    "reorder": _reorder,
    "reverse_compute_at": _reverse_compute_at,
    "rfactor": _rfactor,
    "round_axis": _round_axis,
    "set_scope": _set_scope,
    "slide": _slide,
    "specialize": _only_loop,
    "split": _split,
    "stage_mem": _stage_mem,
    "store_at": _store_at,
    "transform_layout": _transform_layout,
    "unroll": _only_loop,
    "vectorize": _only_loop,
}
