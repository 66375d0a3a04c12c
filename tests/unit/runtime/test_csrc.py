"""The C files that ship with every model."""

import ctypes
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ago.runtime.build import build
from ago.runtime.sources import csrc_path
from ago.runtime.toolchain import find_toolchain
from ago.target import TARGETS, resolve_target
from tests.support.small_model import small_artifact

HOST = resolve_target("host")

# The functions under other names, so that this process's own memcpy is left alone.
_WRAPPERS = """\
#define memset ours_memset
#define memcpy ours_memcpy
#define memmove ours_memmove
#include "ago_mem.c"
AGO_EXPORT void try_memset(char *to, int value, size_t count);
AGO_EXPORT void try_memcpy(char *to, const char *from, size_t count);
AGO_EXPORT void try_memmove(char *to, const char *from, size_t count);
void try_memset(char *to, int value, size_t count) { memset(to, value, count); }
void try_memcpy(char *to, const char *from, size_t count) { memcpy(to, from, count); }
void try_memmove(char *to, const char *from, size_t count) { memmove(to, from, count); }
"""


@pytest.mark.parametrize("kind", ["shared", "executable"])
@pytest.mark.parametrize("target", [HOST, TARGETS["cortex-a76"]], ids=["host", "cortex-a76"])
def test_no_warnings(tmp_path, monkeypatch, toolchain, target, kind):
    monkeypatch.setenv("AGO_CFLAGS", "-Werror -Wpedantic -Wconversion -Wshadow")
    assert build(small_artifact(target), kind, tmp_path / "out", toolchain).exists()


@pytest.fixture(scope="module")
def memory(tmp_path_factory) -> ctypes.CDLL:
    directory = tmp_path_factory.mktemp("mem")
    source = directory / "wrappers.c"
    source.write_text(_WRAPPERS)
    toolchain = find_toolchain(HOST)
    include: list[Path] = [csrc_path("ago_mem.c").parent]
    objects = toolchain.compile_objects([source], directory, HOST, include=include)
    return ctypes.CDLL(str(toolchain.link_shared(objects, directory / "mem.so", HOST)))


SIZES = st.integers(0, 70)
PLACES = st.integers(0, 40)


@given(value=st.integers(-300, 300), start=PLACES, count=SIZES)
def test_memset(memory, value, start, count):
    expected = bytearray(range(128))
    expected[start : start + count] = bytes([value & 0xFF]) * count
    buffer = (ctypes.c_char * 128).from_buffer_copy(bytes(range(128)))
    memory.try_memset(ctypes.byref(buffer, start), value, ctypes.c_size_t(count))
    assert bytes(buffer) == bytes(expected)


@given(to=PLACES, start=PLACES, count=SIZES)
def test_memcpy(memory, to, start, count):
    expected = bytearray(128)
    expected[to : to + count] = bytes(range(start, start + count))
    buffer = (ctypes.c_char * 128)()
    memory.try_memcpy(ctypes.byref(buffer, to), bytes(range(128))[start:], ctypes.c_size_t(count))
    assert bytes(buffer) == bytes(expected)


@given(to=PLACES, start=PLACES, count=SIZES)
def test_memmove_between_overlapping_ranges(memory, to, start, count):
    expected = bytearray(range(128))
    expected[to : to + count] = bytes(range(start, start + count))
    buffer = (ctypes.c_char * 128).from_buffer_copy(bytes(range(128)))
    memory.try_memmove(
        ctypes.byref(buffer, to), ctypes.byref(buffer, start), ctypes.c_size_t(count)
    )
    assert bytes(buffer) == bytes(expected)
