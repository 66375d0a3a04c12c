"""Artifacts on disk: a compiled model is found again without compiling.

Read `cached_artifact` first; an entry that was damaged is made again. An artifact is stored under a
key of everything it depends on: the graph with its parameters, the options, and the compiler's own
source and figures. So a changed compiler never meets an old artifact.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from ago.errors import CodegenError, DeviceError
from ago.ir.graph import Graph
from ago.progress import Progress, silent
from ago.runtime.artifact import Artifact, TensorInfo
from ago.runtime.build import build_cached
from ago.runtime.cache import Cache
from ago.runtime.library import Library
from ago.runtime.pool import ThreadPool
from ago.runtime.sources import csrc_path
from ago.target import Target

_DESCRIPTION = "artifact.json"
_WEIGHTS = "weights.bin"
_NAMES = "names.json"
_SOURCES = (".py", ".json", ".c", ".h")


def cached_artifact(
    graph: Graph, settings: str, make: Callable[[], Artifact], cache: Cache | None = None
) -> Artifact:
    """An artifact from the cache, or made and stored now.

    Args:
        graph: What is compiled.
        settings: Everything else that the result depends on, as text.
        make: Compiles the graph; not called where the artifact is found.
        cache: By default the user's.

    Returns:
        The artifact.
    """
    store = cache or Cache()
    key = _key(graph, settings)

    def fill(directory: Path) -> None:
        write_artifact(make(), directory)

    try:
        return read_artifact(store.get_or_build(key, fill))
    except (OSError, ValueError, KeyError, TypeError, CodegenError):
        store.discard(key)  # an entry that was damaged on disk
        return read_artifact(store.get_or_build(key, fill))


def cached_names(
    graph: Graph, settings: str, make: Callable[[], Iterable[str]], cache: Cache | None = None
) -> frozenset[str]:
    """Names of what a graph is made of, from the cache, or found and stored now.

    Args:
        graph: What is compiled.
        settings: Everything else that the names depend on, as text.
        make: Finds them; not called where they are stored.
        cache: By default the user's.
    """
    store = cache or Cache()
    key = _key(graph, f"names {settings}")

    def fill(directory: Path) -> None:
        (directory / _NAMES).write_text(json.dumps(sorted(make())), encoding="utf-8")

    def read() -> frozenset[str]:
        text = (store.get_or_build(key, fill) / _NAMES).read_text(encoding="utf-8")
        return frozenset(map(str, json.loads(text)))

    try:
        return read()
    except (OSError, ValueError, TypeError):
        store.discard(key)  # an entry that was damaged on disk
        return read()


def open_library(
    artifact: Artifact, progress: Progress = silent, pool: ThreadPool | None = None
) -> Library:
    """Load an artifact's library from the cache, building it if it is not there or damaged.

    Args:
        artifact: A compiled model.
        progress: Told how many C files are compiled.
        pool: Threads to share runs with.

    Raises:
        ToolchainError: There is no C compiler, or it failed.
        DeviceError: The library cannot be loaded.
    """
    path = build_cached(artifact, progress=progress)
    try:
        return Library(path, artifact.name, pool)
    except DeviceError:
        Cache().discard(path.parent.name)
        return Library(build_cached(artifact, progress=progress), artifact.name, pool)


def _key(graph: Graph, settings: str) -> str:
    """The key of an artifact: a digest of all that it depends on."""
    key = hashlib.sha256()
    for part in (*_graph_parts(graph), settings.encode(), compiler_digest().encode()):
        key.update(len(part).to_bytes(8, "little"))
        key.update(part)
    return key.hexdigest()


def write_artifact(artifact: Artifact, directory: Path) -> None:
    """Write an artifact to files that `read_artifact` reads.

    Args:
        artifact: What to write.
        directory: An existing directory.
    """
    description = {
        "name": artifact.name,
        "sources": dict(artifact.sources),
        "weights_crc32": zlib.crc32(artifact.weights),
        "workspace_bytes": artifact.workspace_bytes,
        "inputs": _as_lists(artifact.inputs),
        "outputs": _as_lists(artifact.outputs),
        "target": dataclasses.asdict(artifact.target),
        "steps": list(artifact.steps),
        "fingerprint": artifact.fingerprint,
        "parallel": artifact.parallel,
        "functions": list(artifact.functions),
        "traces": list(artifact.traces),
    }
    (directory / _WEIGHTS).write_bytes(artifact.weights)
    (directory / _DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")


def _as_lists(infos: Sequence[TensorInfo]) -> list[list[object]]:
    return [[info.name, list(info.shape), info.dtype] for info in infos]


def _from_lists(data: Sequence[tuple[str, list[int], str]]) -> tuple[TensorInfo, ...]:
    return tuple(TensorInfo(name, tuple(shape), dtype) for name, shape, dtype in data)


def read_artifact(directory: Path) -> Artifact:
    """The artifact that `write_artifact` wrote into a directory.

    Raises:
        OSError: A file is missing.
        ValueError: A file is damaged.
        KeyError: The description lacks an entry.
    """
    data = json.loads((directory / _DESCRIPTION).read_text(encoding="utf-8"))
    weights = (directory / _WEIGHTS).read_bytes()
    if zlib.crc32(weights) != data["weights_crc32"]:
        raise ValueError(f"the weights in {directory} are damaged")
    return Artifact(
        name=data["name"],
        sources=data["sources"],
        weights=weights,
        workspace_bytes=data["workspace_bytes"],
        inputs=_from_lists(data["inputs"]),
        outputs=_from_lists(data["outputs"]),
        target=Target(**data["target"]),
        steps=tuple(data["steps"]),
        fingerprint=data["fingerprint"],
        parallel=data["parallel"],
        functions=tuple(data["functions"]),
        traces=tuple(data["traces"]),
    )


@functools.cache
def compiler_digest() -> str:
    """SHA-256 (hexadecimal) of the package: its Python and C sources and its shipped figures."""
    return _digest(Path(__file__).parent.parent, csrc_path("ago_runtime.h").parent)


def _digest(*roots: Path) -> str:
    digest = hashlib.sha256()
    for root in roots:
        for path in sorted(p for p in root.rglob("*") if p.suffix in _SOURCES):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _graph_parts(graph: Graph) -> Iterable[bytes]:
    """The bytes that decide what a graph means, names included: they are part of the artifact."""
    yield repr((graph.name, graph.inputs, graph.outputs, graph.nodes)).encode()
    yield repr([(name, graph.types[name]) for name in graph.inputs]).encode()
    for name in sorted(graph.params):
        array = np.ascontiguousarray(graph.params[name])
        yield f"{name} {array.dtype} {array.shape}".encode()
        yield array.tobytes()
