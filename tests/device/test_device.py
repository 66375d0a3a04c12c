"""Running a model away from this process, and comparing what it gave."""

import sys

import numpy as np
import pytest

from ago.errors import DeviceError, InputError
from ago.runtime.build import build
from ago.runtime.device import max_error, run_emulated, run_program
from ago.runtime.transport import LocalTransport
from ago.target import TARGETS, resolve_target
from tests.support.small_model import expected, small_artifact, some_input

HOST = small_artifact(resolve_target("host"))
A76 = small_artifact(TARGETS["cortex-a76"])
FEEDS = {"x": some_input()}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(HOST, "executable", tmp_path_factory.mktemp("program") / "bench")


def test_emulated(tmp_path):
    pytest.importorskip("unicorn")
    library = build(A76, "shared", tmp_path / "small.so")
    run = run_emulated(A76, library, FEEDS)
    assert list(run.outputs) == ["y"]
    assert np.array_equal(run.outputs["y"], expected(some_input()))
    assert run.instructions > 70


def test_program(program):
    run = run_program(HOST, program, FEEDS, runs=3)
    assert list(run.outputs) == ["y"]
    assert np.array_equal(run.outputs["y"], expected(some_input()))
    assert run.instructions is None
    assert 0 <= run.milliseconds < 1000


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({}, r"expected inputs \['x'\], got \[\]"),
        ({"z": some_input()}, r"expected inputs \['x'\], got \['z'\]"),
        ({"x": some_input()[0]}, r"input 'x' must have shape \(1, 7\), not \(7,\)"),
    ],
)
def test_wrong_inputs(program, feeds, message):
    with pytest.raises(InputError, match=message):
        run_program(HOST, program, feeds)


def test_a_missing_launcher(program):
    with pytest.raises(DeviceError, match="cannot run no-such-emulator"):
        run_program(HOST, program, FEEDS, LocalTransport(["no-such-emulator"]))


def test_a_failing_program(program):
    launcher = [sys.executable, "-c", "import sys; sys.exit('bad luck')"]
    with pytest.raises(DeviceError, match=r"failed with exit code 1: bad luck"):
        run_program(HOST, program, FEEDS, LocalTransport(launcher))


def test_a_hanging_program(program):
    launcher = [sys.executable, "-c", "import time; time.sleep(60)"]
    with pytest.raises(DeviceError, match=r"did not end in 0\.5 s"):
        run_program(HOST, program, FEEDS, LocalTransport(launcher), timeout_seconds=0.5)


class TestMaxError:
    def test_is_relative_to_the_largest_value(self):
        got = {"y": np.array([1, -4.5], np.float32)}
        assert max_error(got, {"y": np.array([1.0, -5.0])}) == 0.1

    def test_is_that_of_the_worst_output(self):
        got = {"a": np.ones(2, np.float32), "b": np.zeros(2, np.float32)}
        assert max_error(got, {"a": np.ones(2), "b": np.array([0, 2.0])}) == 1.0

    def test_equal(self):
        values = np.array([0, np.inf, -np.inf, np.nan], np.float32)
        assert max_error({"y": values}, {"y": values.astype(np.float64)}) == 0.0
        assert max_error({}, {}) == 0.0
        assert max_error({"y": np.zeros(0, np.float32)}, {"y": np.zeros(0)}) == 0.0

    def test_of_zero_is_absolute(self):
        assert max_error({"y": np.full(2, 0.5, np.float32)}, {"y": np.zeros(2)}) == 0.5

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_non_finite_values_must_agree(self, value):
        odd, fine = np.array([1, value]), np.array([1.0, 2.0])
        assert max_error({"y": odd.astype(np.float32)}, {"y": fine}) == np.inf
        assert max_error({"y": fine.astype(np.float32)}, {"y": odd}) == np.inf

    def test_names_and_shapes_must_agree(self):
        assert max_error({"y": np.zeros(2, np.float32)}, {"z": np.zeros(2)}) == np.inf
        assert max_error({"y": np.zeros(2, np.float32)}, {"y": np.zeros((2, 1))}) == np.inf
