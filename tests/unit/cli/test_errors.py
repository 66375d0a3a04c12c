"""Errors: one message on stderr, an exit code, no traceback."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from ago.cli import arguments
from tests.support.onnx_models import make_model


def assert_fails(result, code: int, message: str) -> None:
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_an_open_dimension(invoke, model: Path) -> None:
    assert_fails(invoke("optimize", model), 1, "batch")


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--dim", "tokens=3"),
        ("--dim", "seed=3"),
        ("--shape", "input=1,3,8,8"),
        ("--constant", "x=1"),
    ],
)
def test_what_a_built_in_network_does_not_take(invoke, option: str, given: str) -> None:
    message = (
        "tiny_mobilenet is built in: it takes --dim batch=N, --dim size=N, --dim classes=N; "
        f"not {option} {given.split('=')[0]}"
    )
    assert_fails(invoke("optimize", "tiny_mobilenet", option, given), 1, message)


def test_a_file_that_is_no_model(invoke, tmp_path: Path) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"not a model")
    assert_fails(invoke("verify", path), 1, str(path))


def test_all_unsupported_nodes_are_listed(invoke, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Blur", ["x"], ["a"], name="first", domain="com.example"),
        helper.make_node("NonZero", ["a"], ["y"], name="second"),
    ]
    path = tmp_path / "odd.onnx"
    onnx.save(make_model(nodes, {"x": [2, 2]}, ["y"]), path)
    result = invoke("optimize", path)
    assert_fails(result, 1, "first")
    assert "second" in result.stderr


def test_a_target_of_another_kind_of_machine(invoke, model: Path) -> None:
    assert_fails(invoke("run", model, "--target", "pentium"), 1, "known targets: host")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--dim", "batch", "is not of the form batch=1"),
        ("--dim", "batch=zero", "is not a size"),
        ("--dim", "batch=0", "is not a size"),
        ("--shape", "image=1,3,,4", "is not a size"),
        ("--shape", "=1", "is not of the form"),
        ("--constant", "rate=fast", "is neither numbers nor a .npy file"),
        ("--constant", "rate=gone.npy", "is neither numbers nor a .npy file"),
        ("--input", "image", "is not of the form image=cat.npy"),
        ("--input", "image=nowhere.npy", "there is no file"),
        ("--repeat", "0", "range"),
    ],
)
def test_options_of_the_wrong_form(invoke, model, option: str, value: str, message: str) -> None:
    assert_fails(invoke("run", model, option, value), 2, message)


def test_a_model_that_does_not_exist(invoke) -> None:
    assert_fails(invoke("run", "nowhere.onnx"), 2, "there is no file 'nowhere.onnx'")


def test_an_input_of_the_wrong_shape(invoke, model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 5, 5), np.float32))
    result = invoke("run", model, "--dim", "batch=1", "--input", f"image={tmp_path}/x.npy")
    assert_fails(result, 1, "expected float32[1, 3, 4, 4]")


def test_an_input_that_is_no_array(invoke, model: Path, tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_text("text")
    result = invoke("run", model, "--dim", "batch=1", "--input", f"image={tmp_path}/x.npy")
    assert_fails(result, 1, "is not a numpy array")


def test_an_output_directory_that_cannot_be_made(invoke, model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = invoke("optimize", model, "--dim", "batch=1", "-o", tmp_path / "file" / "out")
    assert_fails(result, 1, "file")


def test_interruption_is_quiet(invoke, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object, **rest: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(arguments, "load", interrupt)
    assert_fails(invoke("run", model, "--dim", "batch=1"), 1, "Aborted!")
