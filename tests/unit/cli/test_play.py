"""`ago play`: decisions from stdin, the schedule as a script or a trace."""

import json
from pathlib import Path

import pytest

from ago.errors import InputError
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.schedule.trace import Trace

ARGS = ("--dim", "batch=1", "--node", "stem_conv", "--target", "cortex-a76")


def naive_and_scheduled(script: str) -> tuple[Program, Program]:
    namespace: dict[str, object] = {"__name__": "script"}
    exec(script, namespace)
    naive = namespace["naive"]()
    return naive, namespace["schedule"](naive)


def test_choices_go_into_the_script(invoke, model: Path, tmp_path: Path) -> None:
    default = invoke("play", model, *ARGS, input="rest\n")
    assert default.exit_code == 0, default.stderr
    assert "/tile: " in default.stderr
    assert "  * 0: " in default.stderr
    assert "cycles" in default.stderr
    assert "not timed: this machine cannot run code for cortex-a76" in default.stderr
    out = tmp_path / "mine.py"
    chosen = invoke("play", model, *ARGS, "-o", out, input="1\nundo\nprint\n1\n")
    assert chosen.exit_code == 0, chosen.stderr
    assert "took back " in chosen.stderr
    assert "# program step_0" in chosen.stderr
    assert not chosen.stdout
    naive, own = naive_and_scheduled(out.read_text())
    same, favourite = naive_and_scheduled(default.stdout)
    assert naive == same
    assert own != favourite
    verify(own)


def test_trace_as_json_and_time_on_this_machine(invoke, model: Path) -> None:
    result = invoke("play", model, "--dim", "batch=1", "--step", "0", "--json", input="")
    assert result.exit_code == 0, result.stderr
    assert "µs; default " in result.stderr
    assert Trace.from_json(result.stdout).to_json() == json.dumps(json.loads(result.stdout))


def test_a_missing_directory_is_told_before_the_questions(invoke, model: Path) -> None:
    result = invoke("play", model, *ARGS, "-o", Path("nowhere", "mine.py"), input="rest\n")
    assert result.exit_code == 2
    assert "--out: there is no directory nowhere" in result.stderr
    assert "candidates" not in result.stderr


def test_quit_leaves_nothing(invoke, model: Path) -> None:
    result = invoke("play", model, *ARGS, input="quit\n")
    assert result.exit_code == 1
    assert not result.stdout


def test_a_step_must_be_chosen(invoke, model: Path) -> None:
    assert invoke("play", model, "--dim", "batch=1").exit_code == 2
    wrong = invoke("play", model, "--dim", "batch=1", "--node", "stem_cnv")
    assert wrong.exit_code == 1
    assert "similar: stem_conv" in wrong.stderr


def test_dump_and_debug_from_the_environment(
    invoke, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGO_DUMP", str(tmp_path))
    monkeypatch.setenv("AGO_DEBUG", "1")
    result = invoke("show", model, "--dim", "batch=1", "--after", "c")
    assert result.exit_code == 0
    assert result.stderr.startswith("ago: eliminate_identities: ")
    (directory,) = tmp_path.iterdir()
    assert (directory / "0000-eliminate_identities-unchanged.txt").is_file()
    monkeypatch.setenv("AGO_DEBUG", "loud")
    result = invoke("show", model, "--dim", "batch=1", "--after", "c")
    assert isinstance(result.exception, SystemExit | InputError)
    assert "AGO_DEBUG=loud: levels are 0 to 5" in result.stderr
