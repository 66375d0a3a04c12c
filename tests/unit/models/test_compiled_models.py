"""The networks written with the builder as compiled code, at small sizes."""

import numpy as np
import pytest

import ago
from ago.ir.evaluate import evaluate
from ago.options import Options
from ago.pipeline import compile_graph
from ago.runtime.build import build
from ago.runtime.device import max_error, run_emulated
from ago.target import TARGETS
from tests.support.model_feeds import small_feeds, small_model


@pytest.fixture(autouse=True)
def _quick_strict_compiler(monkeypatch):
    monkeypatch.setenv("AGO_CFLAGS", "-O1 -Werror")


@pytest.mark.parametrize(
    "name", ["bert_tiny", "mobilevit_xxs", "shufflenet_v2_x1_0", "squeezenet1_1"]
)
def test_a_network_verifies_on_this_machine(name):
    graph = small_model(name)
    report = ago.optimize(graph).verify(small_feeds(graph))
    assert report.max_error < 1e-5


def test_a_network_emulated_for_neon(tmp_path):
    pytest.importorskip("unicorn")
    graph = small_model("shufflenet_v2_x1_0")
    feeds = small_feeds(graph)
    artifact = compile_graph(graph, Options(TARGETS["cortex-a76"])).artifact
    run = run_emulated(artifact, build(artifact, "shared", tmp_path / "model.so"), feeds)
    wanted = evaluate(graph, feeds)
    assert np.isfinite(wanted["output"]).all()
    assert max_error(run.outputs, wanted) < 1e-5
