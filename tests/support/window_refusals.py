"""What windows refuse: `slide`, `fold_storage`, `privatize`, and others along sliding windows."""

from functools import partial

from ago.ir.examples import smooth
from ago.schedule.annotate import unroll
from ago.schedule.compute_at import compute_at
from ago.schedule.fold_storage import fold_storage
from ago.schedule.privatize import privatize
from ago.schedule.reorder import reorder
from ago.schedule.slide import slide
from ago.schedule.split import split
from ago.schedule.store_at import store_at
from tests.support.refused import Case

SMOOTH = smooth(9, 3)
PLACED = compute_at(SMOOTH, "P", "S.y")
INSIDE = compute_at(SMOOTH, "P", "S.x")
SLIDING = slide(PLACED, "P", "y", "S.y")
ACROSS = slide(INSIDE, "P", "y", "S.y")
FOLDED = fold_storage(SLIDING, "P", 0, "S.y")

STRIPS = slide(compute_at(split(smooth(8, 3), "S.y", 2), "P", "S.y.1"), "P", "y", "S.y.0")
UNEVEN = compute_at(split(SMOOTH, "S.y", 4, "guard"), "P", "S.y.1")

CASES = [
    Case("unknown-stage", partial(slide, PLACED, "Z", "y", "S.y")),
    Case("unknown-axis", partial(slide, PLACED, "P", "z", "S.y")),
    Case("unknown-loop", partial(slide, PLACED, "P", "y", "S.z")),
    Case("unknown-loop", partial(fold_storage, SLIDING, "P", 0, "S.z")),
    Case("unknown-buffer", partial(fold_storage, SLIDING, "Z", 0, "S.y")),
    Case("unknown-buffer", partial(fold_storage, SLIDING, "P", 2, "S.y")),
    Case("not-intermediate", partial(fold_storage, SLIDING, "X", 0, "S.y")),
    Case("not-inside", partial(slide, SMOOTH, "P", "y", "S.y"), "S.y"),
    Case("not-inside", partial(slide, PLACED, "P", "y", "S.x"), "S.x"),
    Case("not-serial", partial(slide, unroll(PLACED, "S.y"), "P", "y", "S.y"), "S.y"),
    Case("not-serial", partial(fold_storage, unroll(PLACED, "S.y"), "P", 0, "S.y"), "S.y"),
    Case("used-outside", partial(fold_storage, SLIDING, "P", 0, "S.x"), "S.x"),
    Case("no-window", partial(slide, INSIDE, "P", "x", "S.x"), "P.x"),
    Case("no-window", partial(slide, SLIDING, "P", "y", "S.y"), "P.y"),
    Case("no-window", partial(slide, store_at(PLACED, "P", "S.y"), "P", "y", "S.y"), "P.y"),
    Case("no-window", partial(fold_storage, STRIPS, "P", 0, "S.y.1"), "S.y.1"),
    Case("moves-aside", partial(slide, PLACED, "P", "x", "S.y"), "S.y"),
    Case("carried", partial(store_at, SLIDING, "P", "S.y"), "S.y"),
    Case("carried", partial(store_at, ACROSS, "P", "S.x"), "S.y"),
    Case("carried", partial(store_at, FOLDED, "P", "S.y"), "S.y"),
    Case("carried", partial(split, FOLDED, "S.y", 3, "shift"), "S.y"),
    Case("carried", partial(reorder, ACROSS, ["S.x", "S.y"]), "S.y"),
    Case("unknown-buffer", partial(privatize, PLACED, "Z", "S.y")),
    Case("unknown-loop", partial(privatize, PLACED, "P", "S.z")),
    Case("not-intermediate", partial(privatize, PLACED, "X", "S.y")),
    Case("extent-not-constant", partial(privatize, UNEVEN, "P", "S.y.1"), "S.y.1"),
    Case("used-outside", partial(privatize, PLACED, "P", "S.x"), "S.x"),
    Case("private-flow", partial(privatize, SLIDING, "P", "S.y"), "S.y"),
    Case("private-flow", partial(privatize, FOLDED, "P", "S.y"), "S.y"),
    Case("moves-aside", partial(slide, privatize(PLACED, "P", "S.y"), "P", "y", "S.y"), "S.y"),
]
