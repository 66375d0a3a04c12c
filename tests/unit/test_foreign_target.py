"""`ago.optimize` loads what it compiles, so it takes only targets that this machine can run."""

import pytest

import ago
from ago.errors import InputError
from ago.target import TARGETS, runs_on_host


def test_a_target_of_another_machine_is_refused():
    builder = ago.GraphBuilder("clamp")
    graph = builder.build(builder.relu(builder.input("x", (1, 4))))
    foreign = next(name for name, target in TARGETS.items() if not runs_on_host(target))
    with pytest.raises(InputError, match=rf"this machine cannot run code for {foreign}; .*cross_"):
        ago.optimize(graph, target=foreign)
