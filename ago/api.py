"""The public entry point: `optimize`."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy.typing as npt

from ago.codegen.entry import InputSlot, OutputSlot, Slot, WorkspaceSlot
from ago.errors import InputError
from ago.footprint import memory_figures
from ago.frontend import load
from ago.fuse import Plans
from ago.inspection import is_watched
from ago.ir.graph import Graph
from ago.ir.work import Work
from ago.options import Options, require_count
from ago.partition import (
    DEFAULT_PARTITIONER,
    Partitioner,
    PartitionSummary,
    Subgraph,
    find_partitioner,
    one_by_one,
    summarise,
)
from ago.pipeline import Compilation, Kernel, compile_graph
from ago.progress import Progress, silent
from ago.runtime.anatomy import Anatomy, Place
from ago.runtime.artifact import Artifact
from ago.runtime.net import Net, open_net
from ago.runtime.pool import Affinity, ThreadPool, chosen_cpus
from ago.runtime.store import cached_artifact, cached_names
from ago.target import Target, resolve_target, runs_on_host
from ago.tune.known import Known, nothing_known
from ago.tune.machine import Machine, measure_machine
from ago.tune.progress import Progress as TuningProgress
from ago.tune.progress import Watch
from ago.tune.record import Record, TaskKey
from ago.tuning import Tuning, known_schedules, tune_graph

if TYPE_CHECKING:
    import onnx


def optimize(
    model: str | os.PathLike[str] | onnx.ModelProto | Graph,
    target: str | Target = "host",
    *,
    threads: int = 1,
    affinity: Affinity = "big",
    trials: int = 0,
    minutes: float | None = None,
    seed: int = 0,
    database: str | os.PathLike[str] | None = None,
    reformer: bool = True,
    executor: Executor | None = None,
    runner: str | Sequence[str] = (),
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    constants: Mapping[str, npt.ArrayLike] | None = None,
    partitioner: str | Partitioner = DEFAULT_PARTITIONER,
    weight_threshold: float | None = None,
    intensive_fusion: bool = True,
    progress: Progress = silent,
) -> Net:
    """Compile a model; load it where this machine can run it.

    Args:
        model: Path of an ONNX file, an ONNX `ModelProto`, or a graph built by hand.
        target: `"host"`, the name of a target, or a `Target`. A model for another machine can be
            exported, not called.
        threads: Threads that one inference may use. The results are the same, bit for bit, for
            any number of them.
        affinity: CPUs that the threads stay on: `"big"` for those of the highest capacity where
            there are several kinds, `"none"`, or numbers. The calling thread is never bound.
        trials: Candidates of the whole network that the search measures, those of earlier calls
            included; 0 for none, or for any number where `minutes` is given. The default schedules
            are among them, so the result is never slower. Ctrl-C stops the search and loses
            nothing: the same call goes on.
        minutes: Time of the search in this call.
        seed: Seed of every random choice of the search.
        database: File of tuning records. Without a search the schedules it knows are used as they
            are; with one it gets all that is measured, and is by default the user's own.
        reformer: Whether parts with one convolution or matrix product at most are tuned first.
        executor: Measures the candidates: any `concurrent.futures.Executor`, such as Dask's
            `client.get_executor()`; by default this machine does.
        runner: Devices that measure them instead: `"ssh:HOST"`, `"adb"`, `"adb:SERIAL"`, or several
            of one kind; or `"estimated"`, which needs none.
        dims: Sizes of the file's symbolic dimensions, by name.
        shapes: Shapes that replace those of the file's inputs, by input.
        constants: Values of inputs of the file that are the same in every call, by input.
        partitioner: Cuts the graph into subgraphs: `"affix"`, `"exact"`, `"relay"`, or a function
            from a graph to a `Partition`.
        weight_threshold: Most weight of a subgraph for `"affix"` and `"exact"`, in expected draws
            of random schedules.
        intensive_fusion: Whether one loop nest may hold several convolutions or matrix products.
        progress: Called with what is being done, how many parts are done, how many there are.

    Returns:
        The compiled model; call it with numpy arrays, or `export` it as C.

    Raises:
        ModelError: The file is broken, or a dimension is open.
        UnsupportedError: Lists every node that cannot be compiled.
        InputError: An option is wrong, or a search could not run its candidates.
        ToolchainError: There is no C compiler, or it failed.

    Example:
        >>> import ago, numpy as np
        >>> b = ago.GraphBuilder("clamp")
        >>> net = ago.optimize(b.build(b.relu(b.input("x", (1, 4)))))
        >>> net(np.array([[-1.0, 0.0, 2.0, np.inf]], np.float32))
        array([[ 0.,  0.,  2., inf]], dtype=float32)
    """
    options = Options(resolve_target(target), threads, intensive_fusion)
    chosen_cpus(threads, affinity)
    if type(seed) is not int:
        raise InputError(f"seed={seed!r}: expected an integer")
    require_count("trials", trials)
    chosen = find_partitioner(partitioner, weight_threshold)
    graph = model if isinstance(model, Graph) else load(model, dims, shapes, constants)
    if trials or minutes is not None:
        tuning = Tuning.of(
            trials,
            minutes,
            seed=seed,
            database=database,
            reformer=reformer,
            executor=executor,
            runners=runner,
        )

        def tell(message: str) -> None:
            progress(message, 0, 1)

        found, _ = tune_graph(graph, options, tuning, chosen, _watch(progress), progress, tell)
        if found.interrupted:
            raise KeyboardInterrupt
        database = tuning.database
    known = {} if database is None else known_schedules(database, options)
    asked: set[str] = set()

    def ask(key: TaskKey) -> Record | None:
        asked.add(str(key))
        return known.get(key)

    @functools.cache
    def compiled() -> Compilation:
        return compile_graph(graph, options, chosen, progress, ask)

    def make() -> Artifact:
        return compiled().artifact

    def workloads() -> set[str]:
        compiled()
        return asked

    if isinstance(partitioner, str) and not is_watched():
        settings = f"{options} {partitioner} {weight_threshold}"
        used = cached_names(graph, settings, workloads) if known else frozenset()
        tuned = sorted((str(k), record.trace) for k, record in known.items() if str(k) in used)
        artifact = cached_artifact(graph, f"{settings} {tuned}", make)
    else:
        artifact = make()
    pool = ThreadPool(threads, affinity) if threads > 1 and runs_on_host(options.target) else None
    return open_net(
        artifact, lambda: _anatomy(graph, compiled(), options, known.get), progress, pool
    )


def _watch(progress: Progress) -> Watch:
    """Tell of a search as of any long work: trials, or seconds where those are what ends it."""

    def watch(state: TuningProgress) -> None:
        trials, seconds = state.budget.trials, state.budget.seconds
        if trials is not None:
            progress("tuning", min(state.trials, trials), trials)
        elif seconds is not None:
            progress("tuning", min(int(state.elapsed), int(seconds)), int(seconds))

    return watch


def load_net(
    graph: Graph, compilation: Compilation, options: Options, progress: Progress = silent
) -> Net:
    """Build a compiled graph's library, or find it in the cache, and load it.

    Args:
        graph: The graph as it was given.
        compilation: What became of it.
        options: How it was compiled.
        progress: Told how many C files are compiled.

    Returns:
        The runnable model.
    """
    anatomy = _anatomy(graph, compilation, options)
    return open_net(compilation.artifact, lambda: anatomy, progress)


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of a compilation, as verification and profiles see it."""

    label: str
    nodes: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    work: Work


@functools.cache
def _machine() -> Machine:
    """This machine's figures, measured once a process."""
    return measure_machine()


def _anatomy(
    graph: Graph, compilation: Compilation, options: Options, known: Known = nothing_known
) -> Anatomy:
    subgraphs = [kernel.subgraph for kernel in compilation.kernels]
    steps = tuple(_step(compilation.graph, kernel) for kernel in compilation.kernels)
    places = {value: _place(slot) for value, slot in compilation.places.items()}

    def isolate(step: int) -> Net:
        part = _extract(compilation.graph, subgraphs[step])
        return load_net(part, compile_graph(part, options, one_by_one, known=known), options)

    def partition() -> PartitionSummary:
        return summarise(compilation.graph, compilation.partition, options.target.l2_bytes)

    def plans() -> Plans:
        return compilation.plans

    return Anatomy(
        original=graph,
        compiled=compilation.graph,
        steps=steps,
        places=places,
        isolate=isolate,
        partition=partition,
        plans=plans,
        bounds=_machine,
        memory=lambda: memory_figures(compilation),
    )


def _step(graph: Graph, kernel: Kernel) -> _Step:
    part, lowered = kernel.subgraph, kernel.lowered
    names = tuple(node.name for node in part.nodes)
    kinds = {buffer: graph.type_of(value) for buffer, value in lowered.values.items()}
    sizes = {buffer: replace(kind, layout=None).nbytes for buffer, kind in kinds.items()}
    work = Work.of(lowered.program, sizes)
    return _Step(str(part), names, part.inputs, part.outputs, work)


def _extract(graph: Graph, subgraph: Subgraph) -> Graph:
    """A subgraph as a graph of its own, whose inputs are row-major as those of any graph."""
    return Graph.make(
        f"{graph.name}_part",
        {name: replace(graph.type_of(name), layout=None) for name in subgraph.inputs},
        subgraph.nodes,
        subgraph.outputs,
        {n: graph.params[n] for node in subgraph.nodes for n in node.inputs if n in graph.params},
    )


def _place(slot: Slot) -> Place:
    match slot:
        case InputSlot(index):
            return Place("input", index)
        case OutputSlot(index):
            return Place("output", index)
        case WorkspaceSlot(offset):
            return Place("workspace", offset)
        case _:
            raise AssertionError(f"{slot} is no place of a value")
