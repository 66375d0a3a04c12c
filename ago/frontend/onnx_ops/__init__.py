"""ONNX's operators in AGO's terms, by name and first opset version of each meaning.

Read `find_translator` first. Invariant: a node is read by the meaning of its own opset version;
versions newer than any listed here read as the newest.
"""

from ago.frontend.onnx_ops import (
    arithmetic,
    einsum,
    elementwise,
    indexing,
    movement,
    normalise,
    padding,
    quantize,
    quantized_products,
    recurrent,
    reductions,
    resize,
    sampling,
    selection,
    shapes,
    spectral,
    transposed,
    windows,
)
from ago.frontend.onnx_ops.base import Canonical, Context, Expansion, RefusalError, Translator
from ago.frontend.raw import RawNode

__all__ = ["Canonical", "Context", "Expansion", "RefusalError", "find_translator"]

_TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    **windows.TRANSLATORS,
    **transposed.TRANSLATORS,
    **arithmetic.TRANSLATORS,
    **elementwise.TRANSLATORS,
    **quantize.TRANSLATORS,
    **quantized_products.TRANSLATORS,
    **shapes.TRANSLATORS,
    **spectral.TRANSLATORS,
    **sampling.TRANSLATORS,
    **recurrent.TRANSLATORS,
    **einsum.TRANSLATORS,
    **movement.TRANSLATORS,
    **indexing.TRANSLATORS,
    **selection.TRANSLATORS,
    **normalise.TRANSLATORS,
    **padding.TRANSLATORS,
    **reductions.TRANSLATORS,
    **resize.TRANSLATORS,
}


def find_translator(node: RawNode) -> Translator:
    """Return what reads a node.

    Raises:
        RefusalError: If nothing does.
    """
    if node.domain:
        raise RefusalError(f"domain {node.domain!r} is unknown")
    if node.op not in _TRANSLATORS:
        raise RefusalError("the operator is not supported")
    versions = _TRANSLATORS[node.op]
    known = [translator for since, translator in versions if since <= node.version]
    if not known:
        raise RefusalError(f"opset {node.version}; its meaning since opset {versions[0][0]} only")
    return known[-1]
