"""Whether a reduction takes each of its terms once, and updates in place happen once.

Read `find_repeated` first. Overlapping tiles compute some elements twice: harmless for a plain
store, wrong where a statement accumulates or reads what it writes. Terms are counted: a stage's
statements must accumulate as often as its axes say for each time that they start.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ago.ir.apart import writes_apart
from ago.ir.index import Index, substitute, var, variables
from ago.ir.nest import For, If, Leaf, Prefetch, Reduce, Stage, Stmt, Store, Update
from ago.ir.value import Load, loads


@dataclass(frozen=True, slots=True)
class Repeated:
    """A statement that happens more or less often than it should.

    Attributes:
        leaf: The statement.
        loops: Loops around it, outermost first.
        message: What is wrong.
    """

    leaf: Leaf
    loops: tuple[For, ...]
    message: str


@dataclass(frozen=True, slots=True)
class _Site:
    """A leaf with the statements around it, outermost first."""

    leaf: Leaf
    path: tuple[For | If, ...]

    @property
    def loops(self) -> tuple[For, ...]:
        return tuple(stmt for stmt in self.path if isinstance(stmt, For))


def find_repeated(body: tuple[Stmt, ...], stages: Sequence[Stage]) -> Repeated | None:
    """The first statement that accumulates terms twice, leaves some out, or updates twice.

    Args:
        body: A program's statements.
        stages: Its stages; a statement of no stage is not counted.
    """
    sites = list(_sites(body, ()))
    for site in sites:
        if isinstance(site.leaf, Store) and _is_in_place(site.leaf) and not _is_once(site, sites):
            message = f"{site.leaf.buffer} is updated in place, by tiles that may overlap"
            return Repeated(site.leaf, site.loops, message)
    for stage in stages:
        if stage.reduce is not None:
            own = [site for site in sites if site.leaf.stage == stage.name]
            repeated = _miscounted(stage, own)
            if repeated is not None:
                return repeated
    return None


def _sites(body: tuple[Stmt, ...], path: tuple[For | If, ...]) -> Iterator[_Site]:
    for stmt in body:
        if isinstance(stmt, For | If):
            yield from _sites(stmt.body, (*path, stmt))
        elif not isinstance(stmt, Prefetch):
            yield _Site(stmt, path)


def _is_in_place(leaf: Store) -> bool:
    return any(x.buffer == leaf.buffer and x.index == leaf.index for x, _ in loads(leaf.value))


def _is_once(site: _Site, sites: Sequence[_Site]) -> bool:
    """Whether the iterations since the buffer was last filled write different elements."""
    shared = 0
    for other in sites:
        if other is site:
            break
        if other.leaf.buffer == site.leaf.buffer:
            pairs = zip(other.loops, site.loops, strict=False)
            same = [a is b for a, b in pairs]
            shared = max(shared, same.index(False) if False in same else len(same))
    return writes_apart(site.leaf.index, site.loops[shared:], site.loops)


def _miscounted(stage: Stage, sites: Sequence[_Site]) -> Repeated | None:
    """Where a stage accumulates another number of terms than its axes have."""
    terms = math.prod(axis.extent for axis in stage.axes if axis.kind == "reduce")
    for together in _starting_together(sites):
        found = sum(_count(site.path) for site in together)
        starts = [_count(site.path, frozenset(_reduce_loops(site))) for site in together]
        if not terms * max(starts) <= found <= terms * sum(starts):
            return _wrong(stage, together[-1], found, max(starts), terms)
    updates = [site for site in sites if isinstance(site.leaf, Update)]
    inits = list(_inits(sites, {site.leaf.buffer for site in updates}))
    added, started = (sum(_count(site.path) for site in some) for some in (updates, inits))
    if updates and added != terms * started:
        return _wrong(stage, updates[-1], added, started, terms)
    return None


def _starting_together(sites: Sequence[_Site]) -> list[list[_Site]]:
    """Whole reductions by the loop in front of which they start: guards may share it out."""
    groups: dict[int, list[_Site]] = {}
    for site in sites:
        if isinstance(site.leaf, Reduce):
            own = _reduce_loops(site)
            first = next((loop for loop in site.loops if loop.name in own), None)
            groups.setdefault(id(first or site.leaf), []).append(site)
    return list(groups.values())


def _reduce_loops(site: _Site) -> tuple[str, ...]:
    return site.leaf.loops if isinstance(site.leaf, Reduce) else ()


def _wrong(stage: Stage, site: _Site, found: int, starts: int, terms: int) -> Repeated:
    message = (
        f"stage {stage.name} accumulates {found} terms into {site.leaf.buffer}, which it starts "
        f"{starts} times; with {terms} terms each it should be {terms * starts}"
    )
    return Repeated(site.leaf, site.loops, message)


def _inits(sites: Sequence[_Site], sums: set[str]) -> Iterator[_Site]:
    """The stores with which partial sums in some buffers start, not those that move them."""
    stores = [site for site in sites if isinstance(site.leaf, Store)]
    for site in stores:
        if isinstance(site.leaf.value, Load) and site.leaf.buffer in sums:
            sums |= {site.leaf.value.buffer} & {other.leaf.buffer for other in stores}
    for site in stores:
        value = site.leaf.value
        if site.leaf.buffer in sums and not (isinstance(value, Load) and value.buffer in sums):
            yield site


def _count(path: Sequence[For | If], without: frozenset[str] = frozenset()) -> int:
    """How often a leaf is executed, or would be without some loops and the guards on them.

    Loops that share no bound and no guard are counted apart, so that only few are enumerated.
    """
    loops = [stmt for stmt in path if isinstance(stmt, For) and stmt.name not in without]
    guards = [part for stmt in path if isinstance(stmt, If) for part in stmt.condition]
    guards = [part for part in guards if not variables(part) & without]
    total = 1
    for group in _groups(loops, guards):
        own = [loop for loop in loops if loop.name in group]
        total *= _count_group(own, [part for part in guards if variables(part) <= group])
    return total


def _groups(loops: Sequence[For], guards: Sequence[Index]) -> list[set[str]]:
    ties = [{x.name} | variables(x.lo) | variables(x.hi) for x in loops]
    groups: list[set[str]] = []
    for tie in [*ties, *(set(variables(part)) for part in guards)]:
        apart = [group for group in groups if not group & tie]
        groups = [*apart, set(tie).union(*(group for group in groups if group & tie))]
    return groups


def _count_group(loops: Sequence[For], guards: Sequence[Index]) -> int:
    if len(loops) == 1 and not guards:
        return max(loops[0].extent.const, 0)
    names = {loop.name: var(f"v{place}") for place, loop in enumerate(loops)}
    return int(eval(_counting(loops, guards, names)))


def _counting(loops: Sequence[For], guards: Sequence[Index], names: Mapping[str, Index]) -> str:
    """Python text that counts the iterations of nested loops in which all guards hold."""
    *outer, last = loops
    low, high = (substitute(bound, names) for bound in (last.lo, last.hi))
    conditions = " and ".join(f"{substitute(part, names)} >= 0" for part in guards)
    if guards:
        outer, counted = list(loops), "1"
    else:
        counted = f"max(({high}) - ({low}), 0)"
    heads = " ".join(
        f"for {names[x.name]} in range({substitute(x.lo, names)}, {substitute(x.hi, names)})"
        for x in outer
    )
    return f"sum({counted} {heads}{f' if {conditions}' if guards else ''})"
