"""The public entry point: `optimize`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ago.frontend import load
from ago.ir.graph import Graph
from ago.options import Options
from ago.partition import Partition, relay_style
from ago.pipeline import Compilation, compile_graph
from ago.runtime.build import build_cached
from ago.runtime.library import Library, aligned_array
from ago.runtime.net import Net
from ago.target import Target, resolve_target

if TYPE_CHECKING:
    import onnx

Model = "str | os.PathLike[str] | onnx.ModelProto | Graph"


def optimize(
    model: str | os.PathLike[str] | onnx.ModelProto | Graph,
    target: str | Target = "host",
    *,
    threads: int = 1,
    trials: int = 0,
    seed: int = 0,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    partitioner: Callable[[Graph], Partition] = relay_style,
) -> Net:
    """Compile a model."""
    options = Options(resolve_target(target), threads=threads, trials=trials, seed=seed)
    graph = model if isinstance(model, Graph) else load(model, dims=dims, shapes=shapes)
    compilation = compile_graph(graph, options, partitioner)
    artifact = compilation.artifact
    library = Library(build_cached(artifact), artifact.name)
    weights = aligned_array(max(len(artifact.weights), 1), np.uint8)
    weights[: len(artifact.weights)] = np.frombuffer(artifact.weights, np.uint8)
    return Net(artifact, library, weights)
