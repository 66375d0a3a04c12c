"""Timing several builds of one model side by side, step by step.

Read `fastest_steps` first.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ago.runtime.library import Array, Session
from ago.runtime.net import Net, check_inputs
from ago.runtime.verify import random_inputs


def fastest_steps(nets: Sequence[Net], rounds: int, seed: int = 0) -> list[list[float]]:
    """Time the steps of models in their place, one after the other.

    In each round each model runs twice and its second run is timed: the first one brings back what
    the other models have pushed out of the caches.

    Args:
        nets: Builds of one model; their steps may differ.
        rounds: How often all of them run.
        seed: Seed of the inputs.

    Returns:
        Seconds of the fastest run of each step of each model, as the thread's CPU clock shows them.
    """
    ready = [_ready(net, seed) for net in nets]
    best = [[float("inf")] * len(net.artifact.steps) for net in nets]
    for number in range(rounds):
        for place in range(len(nets)):
            turn = (place + number) % len(nets)
            for timed in (False, True):
                _run(ready[turn][0], best[turn], timed)
    return best


def _ready(net: Net, seed: int) -> tuple[Session, list[Array]]:
    """A session, and the arrays that it points to."""
    infos, session = net.artifact.inputs, net.session()
    inputs = check_inputs(infos, random_inputs(infos, seed))
    outputs = [np.empty(info.shape, info.numpy) for info in net.artifact.outputs]
    session.point(inputs, outputs)
    return session, [*inputs, *outputs]


def _run(session: Session, best: list[float], timed: bool) -> None:
    for step in range(len(best)):
        begin = time.thread_time()
        session.step(step)
        if timed:
            best[step] = min(best[step], time.thread_time() - begin)
