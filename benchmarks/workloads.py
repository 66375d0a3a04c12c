"""What a compiled kernel computes: its description, its arithmetic, the bytes it touches.

Read `Workload` first. Counts come from the naive program's stages and buffers, so they do not
depend on the schedule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ago.ir.attributes import read_int, read_ints
from ago.ir.graph import Graph, Node
from ago.ir.work import Work
from ago.partition import Subgraph
from ago.pipeline import Kernel


@dataclass(frozen=True, slots=True)
class Workload:
    """One kernel.

    Attributes:
        label: What it is, for people.
        flop: Operations of its reductions: two a multiply-add, one for other reductions.
        read_bytes: Size of its inputs and constants.
        written_bytes: Size of its outputs.
        decisions: What the schedule chose: register tile as rows x vectors, place of the loop over
            tiles of the vectorised axis.
    """

    label: str
    flop: int
    read_bytes: int
    written_bytes: int
    decisions: str

    @property
    def nbytes(self) -> int:
        """All bytes that are touched."""
        return self.read_bytes + self.written_bytes


def workload_of(graph: Graph, kernel: Kernel) -> Workload:
    """Describe a kernel.

    Args:
        graph: The graph after all passes.
        kernel: A kernel of it.
    """
    work = Work.of(kernel.lowered.program)
    return Workload(
        label=_label(graph, kernel.subgraph),
        flop=work.flop,
        read_bytes=work.read_bytes,
        written_bytes=work.written_bytes,
        decisions=_decisions(kernel),
    )


def _decisions(kernel: Kernel) -> str:
    """The decisions in the order of asking, tiles as `6x2`."""
    values = [value for _, value in kernel.trace.decisions]
    texts = ["x".join(map(str, v)) if isinstance(v, tuple) else str(v) for v in values]
    return " / ".join(texts)


def _label(graph: Graph, subgraph: Subgraph) -> str:
    main = next(iter(subgraph.complex_nodes), subgraph.nodes[0])
    name = {"Conv": _conv_label, "Gemm": _product_label, "MatMul": _product_label}
    text = name.get(main.op, _plain_label)(graph, main)
    return "".join([text, *(f" + {node.op}" for node in subgraph.nodes if node is not main)])


def _conv_label(graph: Graph, node: Node) -> str:
    """Such as `depthwise 3x3 /2, 96 at 56x56`: the map is that of the output."""
    channels = graph.type_of(node.inputs[0]).shape[1]
    weight = graph.type_of(node.inputs[1]).shape
    filters, kernel, group = weight[0], weight[2:], read_int(node.attrs, "group")
    kind, sizes = f"conv {_times(kernel)}", f"{channels}→{filters}"
    if group == channels > 1:
        kind = f"depthwise {_times(kernel)}"
        sizes = str(filters) if filters == channels else sizes
    elif group > 1:
        kind = f"{kind} in {group} groups"
    elif math.prod(kernel) == 1:
        kind = "pointwise"
    strides, dilations = (read_ints(node.attrs, name) for name in ("strides", "dilations"))
    if max(strides) > 1:
        kind += f" /{_times(dict.fromkeys(strides))}"
    if max(dilations) > 1:
        kind += f" dilated {_times(dict.fromkeys(dilations))}"
    return f"{kind}, {sizes} at {_times(node.type.shape[2:])}"


def _product_label(graph: Graph, node: Node) -> str:
    """Such as `gemm 64x1280, 1000`: rows x depth, then columns."""
    rows, columns = node.type.shape
    depth = graph.type_of(node.inputs[0]).size // rows
    return f"{'gemv' if rows == 1 else 'gemm'} {rows}x{depth}, {columns}"


def _plain_label(graph: Graph, node: Node) -> str:
    """Such as `GlobalAveragePool 1x1280x7x7`, by its input's shape."""
    return f"{node.op} {_times(graph.type_of(node.inputs[0]).shape)}"


def _times(sizes: Iterable[int]) -> str:
    return "x".join(str(size) for size in sizes)
