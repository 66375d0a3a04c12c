"""A small model file, a private cache, and a way to run the command line."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import helper

from ago.cli import main
from tests.support.onnx_models import make_model

Invoke = Callable[..., Result]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with an open dimension: y = relu(conv(image)), then its mean."""
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["stem"], name="stem_conv"),
        helper.make_node("Relu", ["stem"], ["act"], name="stem_relu"),
        helper.make_node("GlobalAveragePool", ["act"], ["y"], name="pool"),
    ]
    weights = {"w": np.ones((5, 3, 1, 1), np.float32)}
    path = tmp_path_factory.mktemp("model") / "small.onnx"
    onnx.save(make_model(nodes, {"image": ["batch", 3, 4, 4]}, ["y"], weights), path)
    return path


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def invoke(cache: Path) -> Invoke:
    """Run `ago` with some arguments; output and errors are apart in the result."""

    def run(*args: object, input: str | None = None) -> Result:
        runner = CliRunner(env={"AGO_CACHE_DIR": str(cache)})
        return runner.invoke(main, [str(a) for a in args], input=input)

    return run
