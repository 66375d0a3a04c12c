"""The option `--update-golden`: write the golden files anew instead of comparing with them."""

from collections.abc import Callable
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the files that golden tests compare with; review the difference",
    )


@pytest.fixture
def golden(request) -> Callable[[str, str], None]:
    """Compare a text with the golden file of a name, or write it."""
    update = request.config.getoption("--update-golden", default=False)

    def compare(name: str, text: str) -> None:
        path = Path(__file__).parent / "c" / name
        if update:
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path.name} is missing: run pytest tests/golden --update-golden"
        assert text == path.read_text(encoding="utf-8"), f"{path.name} changed"

    return compare
