"""ONNX's operators that read images at computed places.

Read `TRANSLATORS` first.
"""

from __future__ import annotations

from ago.frontend.onnx_ops.base import (
    Canonical,
    Context,
    RefusalError,
    Translator,
    int_attr,
    str_attr,
)
from ago.frontend.raw import RawNode

_MODES_16 = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}


def grid_sample_16(node: RawNode, context: Context) -> Canonical:
    """`GridSample` 16 to 19, on two spatial axes."""
    mode = str_attr(node, "mode", "bilinear")
    if mode not in _MODES_16:
        raise RefusalError(f"attribute mode={mode!r}; only {', '.join(_MODES_16)}")
    return _grid_sample(node, _MODES_16[mode])


def grid_sample_20(node: RawNode, context: Context) -> Canonical:
    """`GridSample` since 20, on any spatial axes."""
    mode = str_attr(node, "mode", "linear")
    return _grid_sample(node, _MODES_16.get(mode, mode))


def _grid_sample(node: RawNode, mode: str) -> Canonical:
    attrs = {
        "mode": mode,
        "padding_mode": str_attr(node, "padding_mode", "zeros"),
        "align_corners": int(bool(int_attr(node, "align_corners", 0))),
    }
    return Canonical("GridSample", node.inputs, attrs)


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "GridSample": ((16, grid_sample_16), (20, grid_sample_20)),
}
