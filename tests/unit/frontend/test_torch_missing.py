"""Where torch is not installed."""

import sys

import pytest

import ago
from ago.errors import InputError


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r'pip install "ago-compiler\[torch\]"'):
        ago.from_torch(object(), [])
