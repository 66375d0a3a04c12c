"""The operator-weight model: features by hand, JSON round trip, what ships."""

import json
import math

import pytest

from ago.cost_model.linear import (
    FEATURES,
    NestFeatures,
    OperatorWeight,
    nest_features,
    shipped_operator_weight,
)
from ago.ir.examples import chain, matmul


def test_features_of_a_matmul():
    found = nest_features(matmul(4, 6, 5), "complex")
    assert found.log_spatial == pytest.approx(math.log(24))
    assert found.log_reduction == pytest.approx(math.log(5))
    assert found.log_macs == pytest.approx(math.log(120))
    assert found.log_read == pytest.approx(math.log(4 * (4 * 5 + 5 * 6)))
    assert found.log_written == pytest.approx(math.log(4 * 24))


def test_simple_operators_contract_nothing():
    found = nest_features(chain(4, 6), "elementwise")
    assert found.log_macs == 0
    assert found.vector()[: len(FEATURES) - 5] == (0.0, 1.0, 0.0)
    assert len(found.vector()) == len(FEATURES)


def test_the_weight_is_linear_and_at_least_one_draw():
    model = OperatorWeight((1.0, 0, 0, 2.0, 0, 0, 0, 0), {})
    features = NestFeatures.from_sizes("complex", 8, 3, 4, 4)
    assert model(features) == pytest.approx(1 + 2 * math.log(8))
    assert model(NestFeatures.from_sizes("elementwise", 1, 1, 4, 4)) == 1.0


def test_movement_weighs_nothing():
    assert shipped_operator_weight()(NestFeatures.from_sizes("movement", 1000, 1, 4, 4)) == 0.0


def test_json_round_trip():
    model = shipped_operator_weight()
    assert OperatorWeight.from_json(model.to_json()) == model


def test_negative_coefficients_are_refused():
    content = json.loads(shipped_operator_weight().to_json())
    content["coefficients"]["log_read"] = -0.1
    with pytest.raises(ValueError, match="negative"):
        OperatorWeight.from_json(json.dumps(content))


def test_the_shipped_model_says_what_it_was_fitted_on():
    data = shipped_operator_weight().data
    assert {"label", "machine", "date", "r2", "samples"} <= data.keys()
    assert len(data["samples"]) >= 25
