"""What the documents say is true: examples run, links lead somewhere, commands exist."""

import re
import shlex
import subprocess
from pathlib import Path

import click
import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import helper

import ago
from ago.cli import main
from ago.models import MODELS, tiny_mobilenet
from ago.runtime.toolchain import find_toolchain
from ago.target import TARGETS
from tests.support.onnx_models import make_model

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(path: Path, language: str) -> list[str]:
    """The fenced blocks of a page in some language; "" are those that name none."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [code for name, code in found if name == language]


EXAMPLES = [
    (page, code)
    for page in PAGES
    if page.name != "tutorial.md"  # its cells run one after another, in a test of their own
    for code in blocks(page, "python")
]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current directory with the files that the examples mention."""
    monkeypatch.chdir(tmp_path)
    nodes = [
        helper.make_node("Conv", ["input", "w"], ["a"], name="conv1", strides=[32, 32]),
        helper.make_node("GlobalAveragePool", ["a"], ["y"], name="pool"),
    ]
    weights = {"w": np.ones((4, 3, 1, 1), np.float32)}
    onnx.save(make_model(nodes, {"input": [1, 3, 224, 224]}, ["y"], weights), "model.onnx")
    np.save("x.npy", np.zeros((1, 3, 224, 224), np.float32))


def test_the_pages_have_examples() -> None:
    assert {page.name for page, _ in EXAMPLES} >= {"README.md", "ir.md"}


@pytest.mark.parametrize(
    ("page", "code"), EXAMPLES, ids=[f"{page.name}-{n}" for n, (page, _) in enumerate(EXAMPLES)]
)
@pytest.mark.usefixtures("files")
def test_examples_run(page: Path, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, str(page), "exec"), {"__name__": "example"})
    assert capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    missing = [target for target in local if not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_files_in_backquotes_exist(page: Path) -> None:
    names = re.findall(r"`((?:ago|tests|tools|csrc|docs)/[\w./-]+)`", page.read_text("utf-8"))
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_every_decision_is_listed() -> None:
    index = (ROOT / "docs/adr/README.md").read_text(encoding="utf-8")
    pages = [page.name for page in (ROOT / "docs/adr").glob("[0-9]*.md")]
    assert pages
    assert all(f"({name})" in index for name in pages)


def readme_commands() -> list[str]:
    lines = [line for block in blocks(ROOT / "README.md", "") for line in block.splitlines()]
    return [re.split(r"\s{2,}", line)[0] for line in lines if line.startswith("ago ")]


@pytest.mark.parametrize("line", readme_commands())
@pytest.mark.usefixtures("files")
def test_commands_of_the_readme_parse(line: str) -> None:
    name, *args = shlex.split(line)[1:]
    parent = click.Context(main, **main.context_settings)
    command = main.commands[name]
    with command.make_context(name, args, parent=parent) as context:
        assert context.command is command


def test_the_c_program_of_the_readme_runs(tmp_path: Path) -> None:
    """With a smaller network of the same interface; its own arrays are larger than needed."""
    (program,) = blocks(ROOT / "README.md", "c")
    for old, new in (("mobilenet_v2", "tiny_mobilenet"), ("MOBILENET_V2", "TINY_MOBILENET")):
        program = program.replace(old, new)
    (tmp_path / "app.c").write_text(program)
    out = CliRunner().invoke(main, ["optimize", "tiny_mobilenet", "-o", str(tmp_path / "out")])
    assert out.exit_code == 0, out.output
    (library,) = (tmp_path / "out").glob("lib*")
    command = [*find_toolchain().command, "-std=c11", "-Wall", "-Werror", "-Iout", "app.c"]
    subprocess.run([*command, f"out/{library.name}", "-o", "app"], cwd=tmp_path, check=True)
    done = subprocess.run(["./app"], cwd=tmp_path, capture_output=True, text=True, check=True)
    expected = ago.optimize(tiny_mobilenet())(np.zeros((1, 3, 32, 32), np.float32))
    assert float(done.stdout) == pytest.approx(float(expected[0, 0]), abs=1e-6)


def test_claimed_operators_networks_and_targets_are_true() -> None:
    (claim,) = re.findall(r"^\| operators \| .*\[(\d+) of the (\d+)\]", README, re.MULTILINE)
    table = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    assert "{} of {} pass".format(*claim) in table
    assert "0 are wrong" in table
    (row,) = re.findall(r"^\| targets \| (.*)$", README, re.MULTILINE)
    assert set(re.findall(r"`([\w-]+)`", row)) == {*TARGETS, "host"}
    (row,) = re.findall(r"^\| networks with random weights \| (.*)$", README, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == MODELS.keys()
