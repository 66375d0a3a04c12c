"""The disk cache: one builder a key, whole entries only, whoever dies when."""

import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from ago.runtime import cache as cache_module
from ago.runtime.cache import Cache

KEY = "0123456789abcdef"


def write_one(directory: Path) -> None:
    (directory / "file").write_text("content")


def test_builds_once(tmp_path):
    cache = Cache(tmp_path)
    calls = []

    def build(directory: Path) -> None:
        calls.append(directory)
        write_one(directory)

    first = cache.get_or_build(KEY, build)
    second = Cache(tmp_path).get_or_build(KEY, build)
    assert first == second
    assert (first / "file").read_text() == "content"
    assert len(calls) == 1


def test_a_failed_build_leaves_nothing(tmp_path):
    cache = Cache(tmp_path)

    def fail(directory: Path) -> None:
        write_one(directory)
        raise RuntimeError("compiler crashed")

    with pytest.raises(RuntimeError, match="compiler crashed"):
        cache.get_or_build(KEY, fail)
    assert list((tmp_path / "entries").iterdir()) == []
    assert list((tmp_path / "building").iterdir()) == []
    assert (cache.get_or_build(KEY, write_one) / "file").exists()


@pytest.mark.parametrize("key", ["", "short", "../../../escape", "a/b/c/d/e/f", "x" * 129])
def test_refuses_what_is_no_key(tmp_path, key):
    with pytest.raises(ValueError, match="not a cache key"):
        Cache(tmp_path).get_or_build(key, write_one)


def _race(root: Path, started: Barrier, log: Path) -> None:
    def build(directory: Path) -> None:
        with log.open("a") as file:
            file.write(f"{os.getpid()}\n")
        for part in range(5):
            (directory / f"part{part}").write_text("x")
            time.sleep(0.02)

    started.wait()
    entry = Cache(root).get_or_build(KEY, build)
    if len(list(entry.iterdir())) != 5:
        sys.exit(1)


def test_two_processes_race(tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier, log = context.Barrier(2), tmp_path / "log"
    racers = [
        context.Process(target=_race, args=(tmp_path / "cache", barrier, log)) for _ in range(2)
    ]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60)
    assert [racer.exitcode for racer in racers] == [0, 0]
    assert len(log.read_text().splitlines()) == 1


_HANGING_BUILDER = """
import sys, time
from pathlib import Path
from ago.runtime.cache import Cache

def build(directory):
    (directory / "half").write_text("written")
    print("building", flush=True)
    time.sleep(600)

Cache(Path(sys.argv[1])).get_or_build(sys.argv[2], build)
"""


def test_a_killed_builder_is_replaced(tmp_path):
    builder = subprocess.Popen(
        [sys.executable, "-c", _HANGING_BUILDER, str(tmp_path), KEY],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[3],
    )
    assert builder.stdout.readline() == b"building\n"
    builder.send_signal(signal.SIGKILL)
    builder.wait()
    builder.stdout.close()
    assert (tmp_path / "building" / KEY / "half").exists()

    entry = Cache(tmp_path).get_or_build(KEY, write_one)
    assert [path.name for path in entry.iterdir()] == ["file"]
    assert list((tmp_path / "building").iterdir()) == []


def test_prune_removes_what_was_used_longest_ago(tmp_path):
    cache = Cache(tmp_path)
    keys = [f"entry-number-{index}" for index in range(4)]
    for age, key in enumerate(keys):
        entry = cache.get_or_build(key, lambda d: (d / "data").write_bytes(bytes(1000)))
        os.utime(entry, (age, age))
    cache.get_or_build(keys[0], write_one)  # a hit makes it the youngest
    removed = cache.prune(2000)
    assert removed == 2
    assert sorted(path.name for path in (tmp_path / "entries").iterdir()) == [keys[0], keys[3]]
    assert cache.prune(0) == 2
    assert list((tmp_path / "entries").iterdir()) == []


class TestRoot:
    def test_environment_names_it(self, tmp_path, monkeypatch):
        monkeypatch.setenv("AGO_CACHE_DIR", str(tmp_path / "mine"))
        assert Cache().root == tmp_path / "mine"

    def test_users_cache_directory_by_default(self, tmp_path, monkeypatch):
        monkeypatch.delenv("AGO_CACHE_DIR", raising=False)
        monkeypatch.setattr(
            cache_module.platformdirs, "user_cache_dir", lambda name: str(tmp_path / name)
        )
        assert Cache().root == tmp_path / "ago"

    @pytest.fixture
    def unwritable(self, tmp_path, monkeypatch):
        """A cache directory that cannot be made, even by root, and a temporary one that can."""
        (tmp_path / "file").write_text("in the way")
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        monkeypatch.setenv("AGO_CACHE_DIR", str(tmp_path / "file" / "cache"))
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        return temporary

    def test_falls_back_to_a_private_temporary_directory(self, unwritable, capfd):
        cache = Cache()
        assert cache.root.parent == unwritable
        assert stat.S_IMODE(cache.root.stat().st_mode) == 0o700
        assert Cache().root == cache.root
        assert capfd.readouterr().err == ""

    def test_does_not_trust_a_directory_others_can_write_to(self, unwritable):
        planted = unwritable / f"ago-cache-{os.getuid()}"
        planted.mkdir()
        planted.chmod(0o777)
        assert Cache().root != planted

    def test_does_not_follow_a_planted_link(self, unwritable, tmp_path):
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        (unwritable / f"ago-cache-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
        assert Cache().root.name != f"ago-cache-{os.getuid()}"
