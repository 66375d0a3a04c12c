"""What AGO_DUMP writes and AGO_DEBUG says, and that nobody watches without them."""

from __future__ import annotations

import io
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import ago
from ago.errors import InputError
from ago.inspection import Event, Messages, is_watched, watch_from_environment
from ago.ir.interpreter import PRELUDE
from ago.options import Options
from ago.pipeline import compile_graph
from ago.target import TARGETS


def network() -> ago.Graph:
    """Two equal convolutions, the second of the first's result, and a mean."""
    b = ago.GraphBuilder("two/convs")
    y = b.input("x", (1, 4, 3, 3))
    for _ in range(2):
        y = b.relu(b.conv(y, np.ones((4, 4, 1, 1), np.float32)))
    return b.build(b.global_average_pool(y))


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of one compilation, each convolution by itself."""
    path = tmp_path_factory.mktemp("dump")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGO_DUMP", str(path))
        compile_graph(network(), Options(TARGETS["portable"]), ago.partition.relay_style)
    return path / "two_convs"


def test_files_are_numbered_in_order_and_say_what_they_took(dump: Path) -> None:
    files = sorted(dump.iterdir())
    assert [file.name[:4] for file in files] == [f"{n:04}" for n in range(len(files))]
    for file in files:
        head = file.read_text().splitlines()[0]
        assert re.fullmatch(r"(# |/\* ).+: \d+\.\d ms( \(unchanged\))?( \*/)?", head), head
        assert ("(unchanged)" in head) == ("-unchanged." in file.name)
    names = [file.name[5:] for file in files]
    assert names[0] == "eliminate_identities-unchanged.txt"
    assert "fuse_clips.txt" in names
    assert names.index("partition.txt") + 1 == names.index("step_0.nest.py")
    ends = ("nest.py", "decisions.txt", "primitives.py", "schedule.py", "c")
    assert [name for name in names if name.startswith("step_0.")] == [f"step_0.{e}" for e in ends]


def test_nests_run(dump: Path) -> None:
    for file in dump.glob("*.schedule.py"):
        scope = dict(PRELUDE)
        exec(file.read_text(), scope)
        assert callable(scope[file.name[5:].removesuffix(".schedule.py")])


def test_old_files_go(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = dump / "9999-stale.txt"
    stale.touch()
    (dump / "notes.txt").touch()
    monkeypatch.setenv("AGO_DUMP", str(dump.parent))
    compile_graph(network(), Options(TARGETS["portable"]), ago.partition.relay_style)
    assert not stale.exists()
    (dump / "notes.txt").unlink()


def test_each_level_says_more() -> None:
    events: list[Event] = []
    texts = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ago.pipeline.watch_from_environment", lambda name: events.append)
        compile_graph(network(), Options(TARGETS["cortex-a76"]))
    for level in range(1, 6):
        stream = io.StringIO()
        for event in events:
            Messages(level, stream)(event)
        texts.append(stream.getvalue())
    assert all(set(a.splitlines()) < set(b.splitlines()) for a, b in pairwise(texts))
    new = ("ago: fuse_clips: ", "ago: partition: ", "/tile = ", "def step_0(", ": split(loop=")
    for level, line in enumerate(new):
        assert line in texts[level]
        assert all(line not in text for text in texts[:level])
    assert "max(multiply " in texts[2]


def test_nobody_watches_by_default() -> None:
    assert watch_from_environment("m", {}) is None
    assert watch_from_environment("m", {"AGO_DEBUG": "0", "AGO_DUMP": ""}) is None
    assert not is_watched({})
    assert is_watched({"AGO_DEBUG": "2"})
    with pytest.raises(InputError, match="AGO_DEBUG=7: levels are 0 to 5"):
        watch_from_environment("m", {"AGO_DEBUG": "7"})


def test_a_watched_model_is_compiled_even_where_it_is_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGO_CACHE_DIR", str(tmp_path / "cache"))
    ago.optimize(network(), "portable")
    monkeypatch.setenv("AGO_DUMP", str(tmp_path / "dump"))
    ago.optimize(network(), "portable")
    assert any((tmp_path / "dump").rglob("*.schedule.py"))


def test_a_dump_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(InputError, match=f"AGO_DUMP={re.escape(str(file))}: Not a directory"):
        watch_from_environment("m", {"AGO_DUMP": str(file)})
