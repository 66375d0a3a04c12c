"""Cases of operators on images and maps. Read the functions without underscore first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from tests.support.cases import Case
from tests.support.node_cases import node_case, normal


def grid_sample_cases() -> Iterator[Case]:
    """All modes, and places far outside."""
    modes = itertools.product(
        ("nearest", "linear", "cubic"), ("zeros", "border", "reflection"), (0, 1)
    )
    images = itertools.cycle([(2, 3, 4, 5), (1, 1, 7), (2, 17, 3, 1), (1, 2, 3, 2, 5)])
    for (mode, padding, aligned), shape in zip(modes, images, strict=False):
        rank = len(shape) - 2
        grid = 1.5 * normal(1, shape[0], *(3, 2, 2)[:rank], rank)
        attrs = {"mode": mode, "padding_mode": padding, "align_corners": aligned}
        name = f"{mode} {padding} {'aligned' if aligned else 'apart'} {rank}d"
        yield node_case(name, "GridSample", [normal(2, *shape), grid], **attrs)
        grid = grid.copy()
        grid[0, 0] = np.inf
        grid[0, 1] = np.nan
        grid[0, 2] = -1e30
        yield node_case(f"{name} far", "GridSample", [normal(3, *shape), grid], **attrs)


def roi_align_cases() -> Iterator[Case]:
    """Regions inside, across the border, malformed and infinite."""
    x = normal(1, 2, 3, 9, 11)
    rois = np.array(
        [[0, 0, 8, 8], [1, 2, 3.5, 9], [-5, -5, 2, 2], [7, 7, 3, 3], [5, 5, 40, 4]], np.float32
    )
    images = np.array([0, 1, -1, 5, 1], np.int64)
    size = {"output_height": 3, "output_width": 2, "spatial_scale": 0.7}
    for mode, half, ratio in itertools.product(("avg", "max"), (0, 1), (0, 2)):
        attrs = {"mode": mode, "half_pixel": half, "sampling_ratio": ratio}
        yield node_case(f"{mode} {half} {ratio}", "RoiAlign", [x, rois, images], **attrs, **size)
    wild = np.array([[np.nan, 0, 2, 2], [0, -np.inf, 3, np.inf], [0, 0, 1e30, 1e30]], np.float32)
    inputs = [np.ones_like(x), wild, np.zeros(3, np.int32)]
    attrs = {"mode": "avg", "half_pixel": 1, "sampling_ratio": 1}
    yield node_case("wild regions", "RoiAlign", inputs, **attrs, **size)


def deform_conv_cases() -> Iterator[Case]:
    """Groups of channels and of offsets; some offsets are infinite or NaN."""
    for groups, offset_groups, masked, batch in ((1, 1, 0, 1), (2, 1, 1, 2), (1, 4, 1, 5)):
        out = (4, 4)
        offset = 2 * normal(3, batch, offset_groups * 12, *out)
        offset[0, 0, 0] = np.array([np.nan, np.inf, -np.inf, 1e30], np.float32)
        inputs = [normal(1, batch, 4, 6, 7), normal(2, 6, 4 // groups, 3, 2), offset]
        if masked:
            inputs += [normal(4, 6), normal(5, batch, offset_groups * 6, *out)]
        attrs = {
            "group": groups,
            "offset_group": offset_groups,
            "strides": (1, 2),
            "dilations": (2, 1),
            "pads": (1, 0, 1, 1),
        }
        name = f"bent {groups} {offset_groups}"
        yield node_case(name, "DeformConv", inputs, constants=[1], **attrs)


def fold_cases() -> Iterator[Case]:
    """MaxUnpool, Col2Im and Det on 1 to 3 axes."""
    yield from _max_unpools()
    yield from _col2ims()
    for shape in ((1, 1), (2, 2), (3, 2, 5, 5), (17, 17)):
        yield node_case(f"determinants {shape}", "Det", [normal(1, *shape)])
    singular = np.array([[[0, 1], [0, 2]], [[0, 2], [3, 0]]], np.float32)
    yield node_case("singular", "Det", [singular])


def _max_unpools() -> Iterator[Case]:
    for rank, larger in itertools.product((1, 2, 3), (0, 1)):
        pooled = (5, 4, 3)[:rank]
        extents = tuple(extent + larger * (k + 1) for k, extent in enumerate(pooled))
        x = normal(1, 2, 3, *(2, 3, 2)[:rank])
        total = 6 * int(np.prod(pooled))
        places = np.random.default_rng(2).permutation(total)[: x.size].reshape(x.shape)
        attrs = {"pooled": pooled, "extents": extents}
        yield node_case(f"unpool {rank} {larger}", "MaxUnpool", [x, places], **attrs)
        places = places.copy()
        places.flat[:4] = -1, total, np.iinfo("int64").max, np.iinfo("int64").min
        yield node_case(f"unpool wild {rank} {larger}", "MaxUnpool", [x, places], **attrs)


def _col2ims() -> Iterator[Case]:
    for image, block, stride, step, pad in (
        ((9,), (3,), 2, 1, 1),
        ((6, 7), (2, 3), 1, 1, 0),
        ((6, 7), (2, 2), 2, 2, 1),
        ((4, 5, 6), (2, 1, 3), 1, 1, 1),
    ):
        rank = len(image)
        reach = [(k - 1) * step + 1 for k in block]
        counts = [(e + 2 * pad - r) // stride + 1 for e, r in zip(image, reach, strict=True)]
        x = normal(1, 2, 3 * int(np.prod(block)), int(np.prod(counts)))
        attrs = {
            "strides": (stride,) * rank,
            "dilations": (step,) * rank,
            "pads": (pad,) * (2 * rank),
        }
        yield node_case(f"blocks {image} {pad}", "Col2Im", [x], image=image, block=block, **attrs)
