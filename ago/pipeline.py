"""The whole compiler on one page: a list of passes, each from one immutable value to the next.

Read `compile_graph` first. A graph goes through `GRAPH_PASSES`, is partitioned into subgraphs, each
subgraph is lowered to a naive program, scheduled, and printed as one C function; a plan gives every
tensor its place, and all of it together is an `Artifact`, which the runtime compiles and loads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ago.autoschedule import sketch_program
from ago.backends import INTRINSICS
from ago.codegen.emit import Function, emit_function
from ago.codegen.entry import Slot
from ago.fuse import FusionChoice, Plans, SubgraphPlans
from ago.inspection import Event, Scheduled, Stage, Watch, watch_from_environment
from ago.ir.graph import Graph
from ago.ir.lowering import LoweredProgram, lower_nodes, require_lowerings
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.ir.workload import workload_key
from ago.linking import link_model
from ago.options import Options
from ago.partition import (
    DEFAULT_PARTITIONER,
    Partition,
    Partitioner,
    Subgraph,
    find_partitioner,
    order_for_memory,
    strip_views,
)
from ago.passes import (
    choose_layouts,
    compose_movement,
    eliminate_identities,
    explicit_padding,
    fold_batch_norm,
    fold_constants,
    fold_gemm,
    fold_layer_norm,
    fold_scales,
    fuse_clips,
    postpone_softmax,
    recognise_activations,
    recognise_layer_norm,
    turn_rows,
)
from ago.progress import Progress, silent
from ago.runtime.artifact import Artifact
from ago.schedule.trace import Trace
from ago.target import Target
from ago.tune.known import Known, apply_record, nothing_known
from ago.tune.task import Task, distinct_tasks

GraphPass = Callable[[Graph, Target], Graph]

Made = dict[str, tuple[Scheduled, Function]]
"""What has been made of each workload, by its key."""

GRAPH_PASSES: tuple[tuple[str, GraphPass], ...] = (
    ("eliminate_identities", lambda graph, target: eliminate_identities(graph)),
    ("fold_constants", lambda graph, target: fold_constants(graph)),
    ("recognise_layer_norm", lambda graph, target: recognise_layer_norm(graph)),
    ("recognise_activations", lambda graph, target: recognise_activations(graph)),
    ("fold_batch_norm", lambda graph, target: fold_batch_norm(graph)),
    ("fold_gemm", lambda graph, target: fold_gemm(graph)),
    ("fold_layer_norm", lambda graph, target: fold_layer_norm(graph)),
    ("fold_scales", lambda graph, target: fold_scales(graph)),
    ("postpone_softmax", lambda graph, target: postpone_softmax(graph)),
    ("turn_rows", lambda graph, target: turn_rows(graph, target.lanes)),
    ("fuse_clips", lambda graph, target: fuse_clips(graph)),
    ("compose_movement", lambda graph, target: compose_movement(graph)),
    ("explicit_padding", lambda graph, target: explicit_padding(graph)),
    ("choose_layouts", lambda graph, target: choose_layouts(graph, target.lanes)),
)
"""What happens to a graph before it is cut into subgraphs, in order."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A subgraph through all stages of the compiler.

    Attributes:
        subgraph: Its nodes.
        lowered: The naive program and what its buffers are.
        trace: The schedule, as data.
        fusion: The fusion plans it was scheduled by, and the others.
        scheduled: The program after the schedule.
        function: The C function.
    """

    subgraph: Subgraph
    lowered: LoweredProgram
    trace: Trace
    fusion: FusionChoice
    scheduled: Program
    function: Function

    def __str__(self) -> str:
        return f"{self.function.name}: {self.subgraph}"

    @property
    def plans(self) -> SubgraphPlans:
        """The fusion plans, for reading."""
        origins = {stage.name: stage.origin for stage in self.scheduled.stages}
        return SubgraphPlans(str(self.subgraph), origins, self.fusion)


@dataclass(frozen=True, slots=True)
class Compilation:
    """A compiled graph with everything that was made on the way.

    Attributes:
        graph: The graph after all passes.
        partition: Its subgraphs; the views at their borders became no code.
        kernels: One a step of the artifact.
        artifact: C sources, weights and interface.
        places: Where each value is that a kernel reads or writes.
    """

    graph: Graph
    partition: Partition
    kernels: tuple[Kernel, ...]
    artifact: Artifact
    places: Mapping[str, Slot]

    def __str__(self) -> str:
        return "\n".join([str(self.artifact), *(f"  {kernel}" for kernel in self.kernels)])

    @property
    def plans(self) -> Plans:
        """The fusion plans of every step; print them."""
        return Plans(tuple(kernel.plans for kernel in self.kernels))


def run_passes(graph: Graph, target: Target, watch: Watch | None = None) -> Graph:
    """Apply all graph passes."""
    for name, graph_pass in GRAPH_PASSES:
        start = time.perf_counter()
        before, graph = graph, graph_pass(graph, target)
        if watch is not None:
            taken = time.perf_counter() - start
            watch(Event("graph", name, graph, taken, unchanged=str(graph) == str(before)))
    return graph


def compile_graph(
    graph: Graph,
    options: Options,
    partitioner: Partitioner | None = None,
    progress: Progress = silent,
    known: Known = nothing_known,
) -> Compilation:
    """Compile a graph to C.

    Args:
        graph: Of canonical operators.
        options: Target and more.
        partitioner: Cuts the graph into subgraphs; by default that of `DEFAULT_PARTITIONER`.
        progress: Told how many subgraphs are done.
        known: Asked for the schedule of each workload; the others get their defaults.

    Returns:
        The artifact and all intermediate values.

    Raises:
        UnsupportedError: The graph holds operators that cannot be compiled; all are listed.
        InputError: The environment variable AGO_DEBUG is no level.
    """
    target, watch = options.target, watch_from_environment(graph.name)
    graph, partition = cut_graph(graph, target, partitioner, watch)
    work = order_for_memory(graph, strip_views(graph, partition))
    made: Made = {}
    kernels: list[Kernel] = []
    for number, subgraph in enumerate(work.subgraphs):
        progress("scheduling", number, len(work.subgraphs))
        name = f"step_{number}"
        kernels.append(compile_subgraph(graph, subgraph, name, options, made, watch, known))
    progress("scheduling", len(work.subgraphs), len(work.subgraphs))
    linked = link_model(graph, kernels, work.views, INTRINSICS[target.isa], target)
    return Compilation(graph, partition, tuple(kernels), linked.artifact, linked.places)


def cut_graph(
    graph: Graph, target: Target, partitioner: Partitioner | None, watch: Watch | None = None
) -> tuple[Graph, Partition]:
    """Apply all graph passes and cut the graph into subgraphs.

    Args:
        graph: Of canonical operators.
        target: The CPU.
        partitioner: By default that of `DEFAULT_PARTITIONER`.
        watch: Told of what was made.

    Returns:
        The graph after all passes, and its subgraphs.

    Raises:
        UnsupportedError: The graph holds operators that cannot be compiled; all are listed.
    """
    graph = run_passes(graph, target, watch)
    require_lowerings(graph.nodes)
    start = time.perf_counter()
    partition = (partitioner or find_partitioner(DEFAULT_PARTITIONER))(graph)
    if watch is not None:
        watch(Event("partition", "partition", partition, time.perf_counter() - start))
    return graph, partition


def find_tasks(
    graph: Graph, options: Options, partitioner: Partitioner | None = None
) -> tuple[Task, ...]:
    """The distinct workloads of a graph: what can be tuned.

    Args:
        graph: Of canonical operators.
        options: Target and more.
        partitioner: Cuts the graph into subgraphs; by default that of `DEFAULT_PARTITIONER`.

    Returns:
        The tasks, in the order in which an inference first runs them.

    Raises:
        UnsupportedError: The graph holds operators that cannot be compiled; all are listed.
    """
    target, intensive = options.target, options.intensive_fusion
    graph, partition = cut_graph(graph, target, partitioner)
    work = order_for_memory(graph, strip_views(graph, partition))
    found = []
    for number, subgraph in enumerate(work.subgraphs):
        lowered = lower_nodes(graph, subgraph.nodes, subgraph.outputs, f"step_{number}")
        found.append(Task.of(lowered.program, target, str(subgraph), intensive=intensive))
    return distinct_tasks(found)


def compile_subgraph(
    graph: Graph,
    subgraph: Subgraph,
    name: str,
    options: Options,
    made: Made,
    watch: Watch | None = None,
    known: Known = nothing_known,
) -> Kernel:
    """Lower, schedule, verify and print one subgraph.

    Args:
        graph: The graph after all passes.
        subgraph: Nodes of it.
        name: Of the C function.
        options: Target and more.
        made: Schedules and functions by workload key; equal workloads share them.
        watch: Told of what was made.
        known: Asked for the schedule of the workload, which otherwise gets its default.

    Returns:
        The kernel.
    """
    target, label, times = options.target, str(subgraph), [time.perf_counter()]
    lowered = lower_nodes(graph, subgraph.nodes, subgraph.outputs, name)
    times.append(time.perf_counter())
    key = workload_key(lowered.program)
    known_before = made.get(key)
    found = known_before[0] if known_before else _schedule(lowered.program, label, options, known)
    scheduled = found.program.relabelled(lowered.program)
    times.append(time.perf_counter())
    if known_before:
        function = known_before[1].relabelled(scheduled, target)
    else:
        function = emit_function(scheduled, target, INTRINSICS[target.isa])
        made[key] = found, function
    times.append(time.perf_counter())
    if watch is not None:
        _tell(watch, name, label, (lowered.program, found, function.text), times)
    return Kernel(subgraph, lowered, found.trace, found.fusion, scheduled, function)


def _schedule(program: Program, label: str, options: Options, known: Known) -> Scheduled:
    """The known schedule of a workload, or its default; verified."""
    task = Task.of(program, options.target, label, intensive=options.intensive_fusion)
    record = known(task.key)
    found = None if record is None else apply_record(record, task, options.threads)
    if found is not None:
        return found
    made = sketch_program(
        program,
        options.target,
        intensive_fusion=options.intensive_fusion,
        threads=options.threads,
    )
    schedule = made.schedule
    verify(schedule.program)
    return Scheduled(program, schedule.program, schedule.trace, schedule.choices, made.fusion)


def _tell(
    watch: Watch,
    name: str,
    about: str,
    made: tuple[Program, Scheduled, str],
    times: list[float],
) -> None:
    """Tell of what a kernel was made of, stage by stage; `times` are the stages' ends."""
    stages: tuple[Stage, ...] = ("nest", "schedule", "c")
    for stage, value, start, end in zip(stages, made, times, times[1:], strict=False):
        watch(Event(stage, name, value, end - start, about=about if stage == "nest" else ""))
