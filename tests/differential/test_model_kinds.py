"""Small models of the kinds that people bring, against ONNX Runtime."""

import numpy as np
import onnxruntime
import pytest

import ago
from tests.support.model_kinds import KINDS

SIZES = {
    "detector": {"dims": {"batch": 2}},
    "byte classifier": {"dims": {"length": 13}},
    "voice detector": {"constants": {"rate": 16000}},
    "recogniser": {"dims": {"height": 12, "width": 20}},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_agrees_with_onnx_runtime(kind, monkeypatch):
    monkeypatch.setenv("AGO_CFLAGS", "-O1")
    model, feeds = KINDS[kind]()
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    wanted = session.run(None, feeds)
    net = ago.optimize(model, **SIZES[kind])
    fixed = SIZES[kind].get("constants", {})
    found = net.run({name: array for name, array in feeds.items() if name not in fixed})
    for ours, theirs in zip(found.values(), wanted, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * np.abs(theirs).max())


def test_open_sizes_are_named():
    model, _ = KINDS["recogniser"]()
    with pytest.raises(ago.AgoError, match=r"'height' is open.*\n.*'width' is open"):
        ago.load(model)


def test_a_branch_on_an_input_says_how_to_fix_it():
    model, _ = KINDS["voice detector"]()
    with pytest.raises(ago.AgoError, match=r"the condition .* give constants=\{'rate': \.\.\.\}"):
        ago.load(model)
