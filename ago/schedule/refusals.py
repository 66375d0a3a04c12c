"""The conditions of all primitives, as one table, and how a refusal is made.

Each code in `REFUSALS` stands for one numbered requirement of some primitive. `refuse` builds the
error with the place, the reason and a hint; the nest it shows has the offending loop marked.
"""

from __future__ import annotations

from collections.abc import Mapping

from ago.errors import ScheduleError
from ago.ir.printer import print_statements
from ago.ir.program import Program

REFUSALS: Mapping[str, str] = {
    "unknown-loop": "the named loop must exist; a split loop is retired and replaced by its parts",
    "unknown-stage": "the named stage must exist",
    "unknown-axis": "the named axis must be one of the stage's",
    "unknown-buffer": "the named buffer must exist",
    "not-serial": "the loop must still be serial",
    "extent-not-constant": "the loop's bounds must be constants",
    "bad-factor": "a factor must be an integer of at least 1",
    "unknown-tail": "a tail strategy is one of exact, guard, masked, shift, balance",
    "split-not-exact": "tail `exact` needs a factor that divides the extent",
    "shift-reduces": "tail `shift` computes elements twice, so it must not accumulate them twice",
    "shift-in-place": "tail `shift` computes elements twice, so a statement must not read what it "
    "writes",
    "not-nested": "the loops to reorder must be perfectly nested",
    "reorder-accumulates": "iterations of a spatial loop inside a reduce loop must write different "
    "elements",
    "in-place": "a statement that reads other elements of the buffer it writes keeps its order",
    "carried": "iterations along which a window slides use what earlier ones left: they keep their "
    "order and storage",
    "bounds-depend": "a loop's bounds must not depend on a loop that would be inside it",
    "repeated-loop": "each loop may be named once",
    "not-innermost": "a vectorised loop must be innermost",
    "vector-reduces": "a vectorised loop must not be a reduction's",
    "vector-flow": "lanes run together, so a vectorised loop must not read what it writes",
    "inside-vector": "nothing can be computed inside a vectorised loop",
    "many-writers": "the buffer must be written by one stage only",
    "stage-scheduled": "the stage must still be its naive nest at the top of the program",
    "not-elementwise": "an inlined stage must be a plain store, one element for each point",
    "stage-is-output": "an inlined or moved stage must not write an output of the program",
    "not-consumer-loop": "every read of the producer must be inside the loop; a reduction "
    "starts in front of its outermost loop",
    "no-region": "the region that the loop reads must be a box in the producer's axes",
    "order": "the producer must come before the loop it is computed at",
    "not-independent": "a stage moves only past what neither uses what it writes nor writes "
    "what it reads",
    "not-alike": "each loop around the place must divide an axis of its own of the stage",
    "not-intermediate": "the buffer must be an intermediate one",
    "used-outside": "every access of the buffer must be inside the loop; a reduction starts in "
    "front of its outermost loop",
    "bad-scope": "a buffer moves to the scope register, stack or workspace",
    "no-reduction": "the stage must be a reduction",
    "not-constant": "only a constant buffer can be packed",
    "many-accesses": "a packed buffer must be read in one way only",
    "not-around": "every access of a packed buffer must be inside each of the given loops",
    "free-variable": "the packed index must depend on the given loops only",
    "cannot-round": "an axis can be rounded only where it stands alone in every index",
    "divides-reduction": "only a stage that stores its result is divided",
    "bad-place": "blocks stand at or outside the place of their axis, under a name of their own",
    "cannot-collapse": "collapsed axes must stand side by side, alone, in every access",
    "not-inside": "the producer's nest must be inside the loop that moves its window",
    "no-window": "the loop must touch a window of constant extent that moves by a constant step",
    "moves-aside": "only the window's own dimension may move with the loop",
    "no-guard": "there must be a guard in the loop that depends on it or on a loop outside it",
    "bad-range": "the interior must lie inside the loop",
    "cut-reduces": "each part of a cut loop would start the reduction anew",
    "race": "iterations of a parallel loop must not touch the same elements of what they write, "
    "nor reduce together",
    "private-flow": "an iteration of a parallel loop must write what it reads of a buffer of its "
    "own",
    "nested-parallel": "a parallel loop must not be inside another one",
    "fuse-reduces": "two fused loops must both be reduce loops of a reduction, or none of them",
    "fused-region": "a producer of what is read along fused loops must be placed before: its "
    "region would be no box",
    "not-used": "the stage or loop must use the buffer",
    "not-filled": "every element of a copied buffer must have a value: it is an input, a constant, "
    "or one stage fills it",
    "not-producer-loop": "the buffer must be written in the loop only, by one statement",
    "incomplete": "a value must be complete before it is consumed",
    "bad-layout": "a layout holds each dimension once, whole or as its quotient and remainder",
    "not-parameter": "only inputs and constants are prefetched: no primitive moves them",
    "not-streamed": "each iteration must begin to read the buffer at another element",
    "starts-outside": "a reduction must start inside the loop",
    "starts-twice": "iterations in front of which a reduction starts must write different elements",
    "init-order": "what a reduction starts with, and its buffer, must not change between the new "
    "place and the old one",
    "trace-version": "a trace replays only with the version of the format it was written in",
    "trace-workload": "a trace replays only on the workload it was made for",
    "unknown-primitive": "an instruction must name a primitive",
    "bad-instruction": "an instruction's arguments must be those of its primitive",
    "repeated-decision": "each decision has a key of its own and is taken once",
    "missing-decision": "a replayed decision must be present in the trace",
    "outside-domain": "a decision must be one of the candidates offered",
}


def refuse(
    code: str, program: Program, message: str, *, loop: str | None = None, hint: str = ""
) -> ScheduleError:
    """The error for a violated requirement, with the nest printed and `loop` marked.

    Args:
        code: A key of `REFUSALS`.
        program: The program that stays as it is.
        message: What was asked of which loop or buffer, with the numbers.
        loop: The loop to mark in the printed nest.
        hint: What would be legal.
    """
    return ScheduleError(
        code,
        f"{message}\n  rule: {REFUSALS[code]}",
        hint,
        nest=lambda: print_statements(program.body, mark=loop),
    )


def require_factor(program: Program, factor: int, message: str, *, loop: str | None = None) -> None:
    """Check that `factor` is a number of parts, iterations or elements, as a trace can hold it.

    Raises:
        ScheduleError: `bad-factor`.
    """
    if type(factor) is not int or factor < 1:
        raise refuse("bad-factor", program, message, loop=loop)


def require_names(program: Program, loops: object, what: str) -> None:
    """Check that `loops` is a list of names, before someone looks for them.

    Raises:
        ScheduleError: `unknown-loop`.
    """
    if not isinstance(loops, list | tuple) or not all(isinstance(name, str) for name in loops):
        message = f"{what} takes a list of loops' names, not {loops!r}"
        raise refuse("unknown-loop", program, message)
