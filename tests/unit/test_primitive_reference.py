"""docs/primitives.md says what the docstrings of the primitives say."""

from pathlib import Path

import pytest

from ago.schedule.refusals import REFUSALS
from ago.schedule.trace import PRIMITIVES
from tools import make_primitive_reference
from tools.make_primitive_reference import PAGE, main, reference


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), (
        "run python tools/make_primitive_reference.py"
    )
    assert main(["--check"]) == 0


def test_stale_page_is_noticed_and_written_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "primitives.md"
    monkeypatch.setattr(make_primitive_reference, "PAGE", page)
    assert main(["--check"]) == 1
    assert "out of date" in capsys.readouterr().err
    assert main([]) == 0
    assert main(["--check"]) == 0
    assert page.read_text(encoding="utf-8") == reference()


@pytest.mark.parametrize("name", PRIMITIVES)
def test_every_primitive_has_all_sections(name: str) -> None:
    entry = reference().split(f"\n## {name}\n")[1].split("\n## ")[0]
    for part in ("```py\n" + name + "(", "Rewrite:\n\n```text\n", "**Requires**\n\n1. "):
        assert part in entry
    for part in ("**Arguments**\n\n* `", "**Returns** ", "**Example**\n\n```pycon\n>>> "):
        assert part in entry


@pytest.mark.parametrize("name", PRIMITIVES)
def test_codes_of_a_primitive_are_in_the_table(name: str) -> None:
    entry = reference().split(f"\n## {name}\n")[1].split("**Arguments**")[0]
    requires = entry.split("**Requires**")[1]
    assert any(f"`{code}`" in requires for code in REFUSALS)
