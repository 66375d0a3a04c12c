"""`ago show`: a text for each stage, and the choice of a step."""

import json
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("import", "GlobalAveragePool(act)"),
        ("graph", "Conv(image"),
        ("movement", "operators only move elements"),
        ("partition", "Conv → Clip"),
        ("nest", "for "),
        ("trace", "trace of "),
        ("script", "def naive():"),
        ("schedule", "# program step_0"),
        ("c", "_run(const ago_context *context"),
    ],
)
def test_stages(invoke, model: Path, after: str, expected: str) -> None:
    result = invoke("show", model, "--dim", "batch=1", "--after", after)
    assert result.exit_code == 0
    assert expected in result.stdout


@pytest.mark.parametrize("chosen", [("--node", "stem_relu"), ("--node", "act"), ("--step", "0")])
def test_one_step(invoke, model: Path, chosen: tuple[str, str]) -> None:
    args = ("show", model, "--dim", "batch=1", "--after", "c", *chosen)
    text = invoke(*args).stdout
    assert text.startswith("# step 0: Conv → Clip")
    assert "void step_0(" in text
    assert "step_1" not in text
    (step,) = json.loads(invoke(*args, "--json").stdout)["steps"]
    assert step["nodes"] == ["stem_conv", "stem_relu", "pool"]
    assert text == f"# step 0: {step['label']}\n{step['text']}\n"


def test_the_program_after_each_application_of_a_primitive(invoke, model: Path) -> None:
    args = ("show", model, "--dim", "batch=1", "--step", "0")
    trace = invoke(*args, "--after", "trace").stdout
    text = invoke(*args, "--print-after", "split").stdout
    splits = [line.strip() for line in trace.splitlines() if line.startswith("  split(")]
    heads = [line.partition(": ")[2] for line in text.splitlines() if ": split(" in line]
    assert heads == splits
    assert text.count("# program step_0") == len(splits) > 1


def test_all_steps_as_data(invoke, model: Path) -> None:
    shown = json.loads(
        invoke("show", model, "--dim", "batch=1", "--after", "nest", "--json").stdout
    )
    assert [step["step"] for step in shown["steps"]] == list(range(len(shown["steps"])))
    assert shown["after"] == "nest"


def test_an_unknown_node_gets_suggestions(invoke, model: Path) -> None:
    result = invoke("show", model, "--dim", "batch=1", "--after", "c", "--node", "stem_cnv")
    assert result.exit_code == 1
    assert "similar: stem_conv" in result.stderr


def test_where_no_name_is_similar_some_are_told(invoke, model: Path) -> None:
    result = invoke("show", model, "--dim", "batch=1", "--after", "c", "--node", "zzz")
    assert result.exit_code == 1
    assert "there are: stem_conv, " in result.stderr


def test_an_unknown_step_says_how_many_there_are(invoke, model: Path) -> None:
    result = invoke("show", model, "--dim", "batch=1", "--after", "c", "--step", 99)
    assert result.exit_code == 1
    assert "the model has steps 0 to " in result.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("--after", "c", "--node", "stem_conv", "--step", "0"),
        ("--after", "graph", "--step", "0"),
        ("--after", "nowhere"),
        ("--print-after", "nothing"),
        ("--print-after", "split", "--after", "c"),
        (),
    ],
)
def test_contradictions_are_usage_errors(invoke, model: Path, args: tuple[str, ...]) -> None:
    result = invoke("show", model, "--dim", "batch=1", *args)
    assert result.exit_code == 2
    assert "Usage: " in result.stderr


def test_a_single_step_is_watched_as_the_environment_asks(
    invoke, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGO_DUMP", str(tmp_path))
    monkeypatch.setenv("AGO_DEBUG", "1")
    result = invoke("show", model, "--dim", "batch=1", "--after", "nest", "--step", "0")
    assert result.stderr.startswith("ago: eliminate_identities: ")
    names = {path.name for path in tmp_path.rglob("*.*")}
    assert any("partition" in name for name in names)
    assert any("step_0" in name for name in names)
    assert not any("step_1" in name for name in names)
