"""Small inputs that engines have got wrong: compiled together and compared with their results."""

import pytest

from ago.target import resolve_target
from tests.support.onnx_backend import BackendCase, Tolerance, run_backend
from tests.support.small_inputs import SMALL_INPUTS, SmallInput


def backend_case(small: SmallInput) -> BackendCase:
    model, feeds = small.model()
    return BackendCase(f"{small.op}: {small.name}", small.op, model, feeds, small.results())


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning:onnx.reference")
def test_small_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGO_CFLAGS", "-O0")
    cases = [backend_case(small) for small in SMALL_INPUTS]
    outcomes = run_backend(cases, resolve_target("host"), Tolerance(1e-5, 1e-5))
    assert {name: o for name, o in outcomes.items() if o.kind != "passes"} == {}
