"""From operators to stages: how each operator becomes naive loop nests.

Read `LOWERINGS` and `lower_nodes` first. An operator is lowered on logical indices; the context
maps them to the order in which each tensor lies in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ago.errors import IRError, UnsupportedError
from ago.ir.extern import Extern
from ago.ir.graph import Graph, Node
from ago.ir.lowering import movement, reduction
from ago.ir.lowering.context import Lowering
from ago.ir.lowering.convolution import lower_conv
from ago.ir.lowering.einsum import lower_einsum
from ago.ir.lowering.elementwise import ELEMENTWISE
from ago.ir.lowering.externs import EXTERNS
from ago.ir.lowering.movement import lower_concat, lower_movement, lower_trilu
from ago.ir.lowering.normalise import NORMALISATIONS
from ago.ir.lowering.padding import lower_pad
from ago.ir.lowering.pool import lower_average_pool, lower_lp_pool, lower_max_pool
from ago.ir.lowering.product import lower_gemm, lower_matmul
from ago.ir.lowering.rearrange import lower_interleave, lower_rearrange
from ago.ir.lowering.reduction import lower_global_average_pool, lower_log_sum_exp, lower_reduce
from ago.ir.lowering.resample import lower_interpolate
from ago.ir.nest import Buffer
from ago.ir.program import Program

__all__ = ["LOWERINGS", "LoweredProgram", "Lowering", "lower_nodes", "require_lowerings"]

LOWERINGS: Mapping[str, Callable[[Node, Lowering], None]] = {
    "AveragePool": lower_average_pool,
    "Concat": lower_concat,
    "Conv": lower_conv,
    "DepthToSpace": lower_movement("blocks", movement.depth_to_space),
    "Einsum": lower_einsum,
    "Expand": lower_movement("expand", movement.expand),
    "Gemm": lower_gemm,
    "GlobalAveragePool": lower_global_average_pool,
    "Interleave": lower_interleave,
    "Interpolate": lower_interpolate,
    "LpPool": lower_lp_pool,
    "MatMul": lower_matmul,
    "MaxPool": lower_max_pool,
    "Pad": lower_pad,
    "Rearrange": lower_rearrange,
    "ReduceL1": lower_reduce(reduction.L1),
    "ReduceL2": lower_reduce(reduction.L2),
    "ReduceLogSum": lower_reduce(reduction.LOG_SUM),
    "ReduceLogSumExp": lower_log_sum_exp,
    "ReduceMax": lower_reduce(reduction.MAX),
    "ReduceMean": lower_reduce(reduction.MEAN),
    "ReduceMin": lower_reduce(reduction.MIN),
    "ReduceProd": lower_reduce(reduction.PROD),
    "ReduceSum": lower_reduce(reduction.SUM),
    "ReduceSumSquare": lower_reduce(reduction.SUM_SQUARE),
    "Reshape": lower_movement("reshape", movement.reshape),
    "Slice": lower_movement("slice", movement.slice_),
    "SpaceToDepth": lower_movement("blocks", movement.space_to_depth),
    **ELEMENTWISE,
    **EXTERNS,
    **NORMALISATIONS,
    "Take": lower_movement("take", movement.take),
    "Tile": lower_movement("tile", movement.tile),
    "Transpose": lower_movement("transpose", movement.transpose),
    "Trilu": lower_trilu,
}
"""How each operator lowers to stages; `BatchNormalization` is rewritten by a pass before."""


@dataclass(frozen=True, slots=True)
class LoweredProgram:
    """A subgraph as a naive program.

    Attributes:
        program: One naive nest a stage.
        values: Value of the graph that each input, output and constant buffer is, by buffer name.
    """

    program: Program
    values: Mapping[str, str]

    def __str__(self) -> str:
        return str(self.program)


def lower_nodes(
    graph: Graph, nodes: Sequence[Node], outputs: Iterable[str], name: str
) -> LoweredProgram:
    """Lower some nodes of a graph to one naive program.

    Args:
        graph: The graph, with layouts.
        nodes: Nodes of it in topological order.
        outputs: Values among those they make that are read elsewhere or leave the graph.
        name: Name of the program, a C identifier.

    Returns:
        The program and what its buffers are.

    Raises:
        UnsupportedError: Nodes have no lowering; all are listed.
        IRError: `extern-alone` if one of several nodes is an extern.
    """
    require_lowerings(nodes)
    lowering = Lowering(graph.type_of, frozenset(graph.params), frozenset(outputs))
    for node in nodes:
        LOWERINGS[node.op](node, lowering)
    rank = {"input": 0, "constant": 1, "output": 2}
    buffers: list[Buffer] = [*lowering.buffers.values(), *lowering.extra]
    buffers.sort(key=lambda buffer: rank.get(buffer.scope, 3))
    values = {b.name: value for value, b in lowering.buffers.items() if b.scope in rank}
    if lowering.externs:
        program = Program(name, tuple(buffers), (), (), _only_extern(nodes, lowering))
        return LoweredProgram(program, values)
    return LoweredProgram(Program.naive(name, tuple(buffers), tuple(lowering.stages)), values)


def _only_extern(nodes: Sequence[Node], lowering: Lowering) -> Extern:
    extern = lowering.externs[0]
    if len(nodes) > 1:
        others = ", ".join(node.name for node in nodes if node.name != extern.origin)
        raise IRError(
            "extern-alone",
            f"node {extern.origin} ({extern.op}) is an extern, which is compiled alone, not "
            f"together with {others}; give it a subgraph of its own",
        )
    return extern


def require_lowerings(nodes: Iterable[Node]) -> None:
    """Check that every node can be compiled.

    Raises:
        UnsupportedError: Some cannot; all are listed with operator and shape.
    """
    problems = [
        f"{node.name}: {node.op} -> {node.type} has no lowering"
        for node in nodes
        if node.op not in LOWERINGS
    ]
    if problems:
        raise UnsupportedError(problems)
