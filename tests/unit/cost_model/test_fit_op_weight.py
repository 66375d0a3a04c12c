"""The tool that fits the operator weights: its sample, and the fit itself."""

import importlib.util
import sys
from pathlib import Path

import pytest

from ago.cost_model.linear import NestFeatures
from ago.target import TARGETS

PATH = Path(__file__).parents[3] / "tools" / "fit_op_weight.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("fit_op_weight", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_sample_has_all_kinds_that_weigh(tool):
    found = {}
    for name, graph in tool.sample_operators():
        program, features = tool.naive_program(graph, TARGETS["cortex-a76"])
        assert program.stages
        found[name] = features.kind
    assert len(found) >= 25
    assert set(found.values()) == {"complex", "elementwise", "reduction"}


def test_the_fit_has_no_negative_coefficient(tool):
    # Labels that fall with the size ask for a negative coefficient.
    samples = [
        tool.Sample(f"s{n}", NestFeatures.from_sizes("complex", 2**n, 3, 4**n, 4), 5, 20.0 - n)
        for n in range(1, 12)
    ]
    model = tool.fit(samples, {"machine": "none"})
    assert min(model.coefficients) >= 0
    assert model(samples[0].features) > 1
    assert model.data["machine"] == "none"
    assert len(model.data["samples"]) == len(samples)


def test_random_candidates_are_repeatable(tool):
    _, graph = next(iter(tool.sample_operators()))
    program, _ = tool.naive_program(graph, TARGETS["cortex-a76"])
    first, second = (tool.random_candidates(program, TARGETS["cortex-a76"], 3) for _ in range(2))
    assert [c.function.text for c in first] == [c.function.text for c in second]
