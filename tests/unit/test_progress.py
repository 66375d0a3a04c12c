"""Progress of a compilation: whole, in order, and from the caller's own thread."""

import itertools
import threading
from pathlib import Path

import pytest

import ago
from ago.ir.graph import Graph


@pytest.fixture
def graph() -> Graph:
    b = ago.GraphBuilder("steps")
    x = b.input("x", (1, 3))
    return b.build(b.relu(b.add(b.relu(x), x)))


def test_each_phase_counts_from_nothing_to_its_total(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGO_CACHE_DIR", str(tmp_path))
    seen: list[tuple[str, int, int]] = []
    threads = set()

    def progress(phase: str, done: int, total: int) -> None:
        seen.append((phase, done, total))
        threads.add(threading.current_thread())

    ago.optimize(graph, progress=progress)
    phases = {p: list(g) for p, g in itertools.groupby(seen, key=lambda item: item[0])}
    assert list(phases) == ["scheduling", "compiling C"]
    for reports in phases.values():
        total = reports[0][2]
        assert [done for _, done, _ in reports] == list(range(total + 1))
        assert {t for _, _, t in reports} == {total}
    assert threads == {threading.current_thread()}

    seen.clear()
    ago.optimize(graph, progress=progress)
    assert seen == [], "there is nothing to do for a model in the cache"
