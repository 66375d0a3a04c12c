"""Graph passes: each a pure function from one `Graph` to the next, one a file.

Read `ago.passes.draft` for what they share. Invariant: a pass keeps the names, order and meaning of
the graph's inputs and outputs.
"""

from ago.passes.compose_movement import compose_movement
from ago.passes.eliminate_identities import eliminate_identities
from ago.passes.explicit_padding import explicit_padding
from ago.passes.fold_batch_norm import fold_batch_norm
from ago.passes.fold_constants import fold_constants
from ago.passes.fold_gemm import fold_gemm
from ago.passes.fold_layer_norm import fold_layer_norm
from ago.passes.fold_scales import fold_scales
from ago.passes.fuse_clips import fuse_clips
from ago.passes.layouts import choose_layouts
from ago.passes.memory_views import is_view
from ago.passes.movement_report import MovementReport, report_movement
from ago.passes.postpone_softmax import postpone_softmax
from ago.passes.recognise_activations import recognise_activations
from ago.passes.recognise_layer_norm import recognise_layer_norm
from ago.passes.turn_rows import turn_rows

__all__ = [
    "MovementReport",
    "choose_layouts",
    "compose_movement",
    "eliminate_identities",
    "explicit_padding",
    "fold_batch_norm",
    "fold_constants",
    "fold_gemm",
    "fold_layer_norm",
    "fold_scales",
    "fuse_clips",
    "is_view",
    "postpone_softmax",
    "recognise_activations",
    "recognise_layer_norm",
    "report_movement",
    "turn_rows",
]
