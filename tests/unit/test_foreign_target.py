"""A model for another machine: it is compiled and exported; running it is refused."""

import numpy as np
import pytest

import ago
from ago.errors import InputError
from ago.runtime.net import Net
from ago.target import TARGETS, runs_on_host

FOREIGN = next(name for name, target in TARGETS.items() if not runs_on_host(target))


@pytest.fixture(scope="module")
def net() -> Net:
    builder = ago.GraphBuilder("clamp")
    graph = builder.build(builder.relu(builder.input("x", (1, 4))))
    return ago.optimize(graph, target=FOREIGN, threads=2)


@pytest.mark.parametrize(
    "use",
    [
        lambda net: net(np.zeros((1, 4), np.float32)),
        lambda net: net.verify(),
        lambda net: net.profile(rounds=1),
    ],
    ids=["call", "verify", "profile"],
)
def test_what_runs_it_is_refused(net, use):
    message = rf"this machine cannot run code for {FOREIGN}: `export` writes it"
    with pytest.raises(InputError, match=message):
        use(net)


def test_it_is_exported(net, tmp_path):
    exported = net.export(tmp_path)
    assert "clamp_run(" in (tmp_path / "clamp.h").read_text()
    assert set(exported.files) == {path.name for path in tmp_path.iterdir()}


def test_a_search_needs_something_that_can_run_its_candidates():
    builder = ago.GraphBuilder("clamp")
    graph = builder.build(builder.relu(builder.input("x", (1, 4))))
    with pytest.raises(InputError, match=f"cannot run code for {FOREIGN}, nor time it: give a "):
        ago.optimize(graph, target=FOREIGN, trials=1)
