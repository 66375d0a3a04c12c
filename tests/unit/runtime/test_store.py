"""The key under which a compiled model is stored."""

import pytest

from ago.runtime.store import _digest


@pytest.mark.parametrize("changed", ["passes/fold.py", "cost_model/operator_weight.json"])
def test_a_changed_file_of_the_compiler_changes_the_digest(tmp_path, changed):
    for name in ("passes/fold.py", "cost_model/operator_weight.json", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1", encoding="utf-8")
    before = _digest(tmp_path)
    (tmp_path / "notes.txt").write_text("2", encoding="utf-8")
    assert _digest(tmp_path) == before
    (tmp_path / changed).write_text("2", encoding="utf-8")
    assert _digest(tmp_path) != before
