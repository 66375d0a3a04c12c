"""The networks of `ago.models` at sizes for tests, and inputs for them."""

from __future__ import annotations

import numpy as np

from ago.ir.graph import Graph
from ago.models import MODELS

_SIZES = {
    "bert_tiny": {"tokens": 16, "batch": 2},
    "mobilevit_s": {"size": 64, "classes": 10},
    "mobilevit_xxs": {"size": 64, "classes": 10},
    "tiny_mobilenet": {"size": 32, "batch": 2},
}


def small_model(name: str, seed: int = 0) -> Graph:
    """Return the network at 32 or 64 pixels, or 16 tokens."""
    return MODELS[name](seed=seed, **_SIZES.get(name, {"size": 32, "classes": 10}))


def small_feeds(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    """Return images, or texts the last of which ends in masked tokens."""
    rng = np.random.default_rng(seed)
    if "input" in graph.inputs:
        shape = graph.types["input"].shape
        return {"input": rng.standard_normal(shape).astype(np.float32)}
    shape = graph.types["input_ids"].shape
    mask = np.ones(shape, np.int64)
    mask[-1, shape[1] // 2 :] = 0
    return {"input_ids": rng.integers(0, 30522, shape), "attention_mask": mask}
