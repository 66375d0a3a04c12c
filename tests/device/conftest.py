"""Fixtures of the device tests."""

import pytest

from ago.runtime.toolchain import Toolchain
from tests.support.toolchains import toolchains


@pytest.fixture(params=toolchains(), ids=lambda toolchain: toolchain.kind)
def toolchain(request) -> Toolchain:
    """Each toolchain of this machine, one after the other."""
    return request.param
