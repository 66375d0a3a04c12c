"""Models on which a careless rewrite changes the result, against ONNX Runtime without any."""

import onnxruntime
import pytest

from ago.target import resolve_target
from tests.support.onnx_backend import BackendCase, Tolerance, run_backend
from tests.support.rewrite_traps import TRAPS, Trap


def backend_case(trap: Trap) -> BackendCase:
    model, feeds = trap.model()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return BackendCase(trap.name, trap.nodes[0].op_type, model, feeds, session.run(None, feeds))


def test_rewrite_traps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGO_CFLAGS", "-O0")
    cases = [backend_case(trap) for trap in TRAPS]
    assert len({case.name for case in cases}) == len(cases)
    outcomes = run_backend(cases, resolve_target("host"), Tolerance(0.0, 1e-6))
    assert {name: o for name, o in outcomes.items() if o.kind != "passes"} == {}
