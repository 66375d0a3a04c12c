"""Counting each instruction of emulated code."""

import numpy as np
import pytest

from ago.errors import DeviceError
from ago.runtime import machine as machine_module
from ago.runtime.elf import load_image
from ago.runtime.machine import IMAGE_BASE, Machine
from ago.runtime.toolchain import find_toolchain
from ago.target import TARGETS

pytest.importorskip("unicorn")

A76 = TARGETS["cortex-a76"]
LOOP = """
    .text
    .globl entry
entry:
    mov x9, #{rounds}
1:  tbz x9, #0, 2f
    add x11, x11, #1
2:  subs x9, x9, #1
    b.ne 1b
    mov w0, #0
    ret
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    directory = tmp_path_factory.mktemp("watch")
    source = directory / "entry.S"
    source.write_text(LOOP.format(rounds=7))
    toolchain = find_toolchain(A76)
    objects = toolchain.compile_objects([source], directory, A76)
    library = toolchain.link_shared(objects, directory / "entry.so", A76)
    return load_image(library.read_bytes(), IMAGE_BASE)


def test_each_instruction_is_counted(image):
    machine, entry = Machine(image), image.symbols["entry"]
    counts = machine.watch(entry, 7 * 4)
    assert not counts().any()
    machine.call(entry, [], 60.0, None)
    assert counts().tolist() == [1, 7, 4, 7, 7, 1, 1]
    assert counts().sum() == machine.instructions
    machine.call(entry, [], 60.0, None)
    assert counts().tolist() == [2, 14, 8, 14, 14, 2, 2]


def test_what_is_outside_of_the_range_is_not_counted(image):
    machine, entry = Machine(image), image.symbols["entry"]
    counts = machine.watch(entry + 4, 3 * 4)
    machine.call(entry, [], 60.0, None)
    assert machine.instructions == 28
    assert counts().sum() < 28


def test_without_a_compiler_there_are_no_counts(image, monkeypatch):
    monkeypatch.setattr(machine_module, "_block_counter", lambda: None)
    with pytest.raises(DeviceError, match="C compiler"):
        Machine(image).watch(0, 4)


def test_counts_are_a_snapshot(image):
    machine, entry = Machine(image), image.symbols["entry"]
    counts = machine.watch(entry, 7 * 4)
    before = counts()
    machine.call(entry, [], 60.0, None)
    assert np.array_equal(before, np.zeros(7))
