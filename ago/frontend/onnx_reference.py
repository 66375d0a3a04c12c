"""Computing nodes on constants with onnx's own reference implementation.

Read `reference_results` first. Invariant: only operators whose results are determined by their
inputs are computed, and a result is either an array or nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from ago.frontend.onnx_nodes import to_proto
from ago.frontend.raw import AnyArray, RawNode

RANDOM = frozenset(
    {
        "Bernoulli",
        "Dropout",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    }
)
"""Operators that draw random numbers: nothing to compute ahead."""


def reference_results(
    node: RawNode, arrays: Sequence[AnyArray | None]
) -> tuple[AnyArray, ...] | None:
    """Compute a node whose inputs are all constant.

    Args:
        node: The node.
        arrays: Its inputs; None where absent.

    Returns:
        An array per output, also unused ones; None if onnx cannot compute it.
    """
    import onnx
    from onnx.reference import ReferenceEvaluator

    if node.domain or node.op in RANDOM or node.graphs:
        return None
    feeds = {f"x{k}": array for k, array in enumerate(arrays) if array is not None}
    inputs = tuple(f"x{k}" if array is not None else "" for k, array in enumerate(arrays))
    outputs = tuple(f"y{k}" for k in range(max(len(node.outputs), 1)))
    renamed = RawNode(node.name, node.op, "", node.version, inputs, outputs, node.attrs)
    try:
        graph = onnx.helper.make_graph(
            [to_proto(renamed)],
            "node",
            [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in feeds],
            [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in outputs],
        )
        opset = onnx.helper.make_opsetid("", min(node.version, onnx.defs.onnx_opset_version()))
        model = onnx.helper.make_model(graph, opset_imports=[opset])
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = ReferenceEvaluator(model).run(None, feeds)
    except Exception:  # whatever it raises, it cannot compute this node
        return None
    if not all(isinstance(result, np.ndarray | np.generic) for result in results):
        return None
    return tuple(np.asarray(result) for result in results)
