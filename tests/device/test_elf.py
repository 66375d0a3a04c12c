"""The loader of AArch64 shared libraries: what it places, what it refuses, what is broken."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ago.errors import DeviceError
from ago.runtime.elf import load_image
from ago.runtime.toolchain import find_toolchain
from ago.target import TARGETS

A76 = TARGETS["cortex-a76"]
BASE = 0x4000_0000

# Every kind of relocation: a table of pointers (relative and by symbol), an interposable call
# (jump slot), an interposable address (GOT), a weak symbol that nobody defines.
RELOCATIONS = """\
#define SHOWN __attribute__((visibility("default")))
extern int nobody(void) __attribute__((weak)) SHOWN;
static int hidden_value = 7;
SHOWN int shown_value = 11;
int *const table[] = {&hidden_value, &shown_value};
SHOWN int *const *get_table(void) { return table; }
SHOWN __attribute__((weak)) int callee(void) { return 3; }
SHOWN int caller(void) { return callee() + shown_value + (nobody ? nobody() : 0); }
SHOWN char zeros[100000];
"""


def link(directory: Path, code: str, *flags: str) -> Path:
    source = directory / "unit.c"
    source.write_text(code)
    toolchain = find_toolchain(A76)
    objects = toolchain.compile_objects([source], directory, A76)
    out = directory / "unit.so"
    toolchain._run(
        [
            *toolchain._target_flags(A76)[:2],
            *(["-fuse-ld=lld"] if toolchain.kind == "clang" else []),
            *("-shared", "-nostdlib", "-Wl,-z,lazy", *flags, str(objects[0]), "-o", str(out)),
        ]
    )
    return out


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    return link(tmp_path_factory.mktemp("elf"), RELOCATIONS, "-Wl,--hash-style=both")


def word(image, address: int) -> int:
    for segment in image.segments:
        if segment.address <= address < segment.address + len(segment.data):
            return struct.unpack_from("<Q", segment.data, address - segment.address)[0]
    raise AssertionError(f"{address:#x} is not mapped")


@pytest.mark.parametrize("style", ["sysv", "gnu", "both"])
def test_symbols_by_either_hash_table(tmp_path, style):
    image = load_image(link(tmp_path, RELOCATIONS, f"-Wl,--hash-style={style}").read_bytes(), BASE)
    shown = {"shown_value", "get_table", "callee", "caller", "zeros"}
    assert shown <= image.symbols.keys()
    assert "nobody" not in image.symbols
    assert "hidden_value" not in image.symbols


def test_placement_and_relocation(library):
    data = library.read_bytes()
    image, elsewhere = load_image(data, BASE), load_image(data, BASE + 0x10_0000)
    for name, address in image.symbols.items():
        assert elsewhere.symbols[name] == address + 0x10_0000
    assert word(image, image.symbols["shown_value"]) & 0xFFFFFFFF == 11
    assert word(image, image.symbols["zeros"] + 90000) == 0
    code = [s for s in image.segments if s.is_executable]
    assert any(
        s.address <= image.symbols["caller"] < s.address + len(s.data) and not s.is_writable
        for s in code
    )
    pointers = {
        value
        for segment in image.segments
        for (value,) in struct.iter_unpack("<Q", segment.data[: len(segment.data) // 8 * 8])
    }
    assert {image.symbols["shown_value"], image.symbols["callee"]} <= pointers


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("int missing(void);\nint f(void) { return missing(); }\n", "undefined symbol 'missing'"),
        ("__thread int x;\nint *f(void) { return &x; }\n", "thread-local"),
        (
            "volatile int x;\n__attribute__((constructor)) static void f(void) { x = 1; }\n",
            "initialis",
        ),
    ],
)
def test_refusals(tmp_path, code, message):
    source = code.replace("int f(", '__attribute__((visibility("default"))) int f(')
    source = "int f(void);\n" * ("int f(void) {" in code) + source
    library = link(tmp_path, source, "-Wl,-z,undefs")
    with pytest.raises(DeviceError, match=message):
        load_image(library.read_bytes(), BASE)


@pytest.mark.parametrize(("tag", "message"), [(36, "DT_RELR"), (1, "another shared library")])
def test_refused_dynamic_tags(library, tag, message):
    relocation_count = struct.pack("<Q", 0x6FFFFFF9)  # a tag that every such library has
    data = library.read_bytes()
    assert relocation_count in data
    with pytest.raises(DeviceError, match=message):
        load_image(data.replace(relocation_count, struct.pack("<Q", tag)), BASE)


def test_what_is_no_aarch64_library(library):
    with pytest.raises(DeviceError, match="not a little-endian ELF64"):
        load_image(b"MZ" + bytes(100), BASE)
    x86 = bytearray(library.read_bytes())
    struct.pack_into("<H", x86, 18, 62)
    with pytest.raises(DeviceError, match=r"not a shared library for AArch64 .*e_machine 62"):
        load_image(bytes(x86), BASE)


@given(data=st.data())
def test_broken_files_are_refused_or_loaded_but_never_crash(library, data):
    broken = bytearray(library.read_bytes())
    for _ in range(data.draw(st.integers(1, 8), label="changes")):
        # Headers and dynamic tables are at the beginning; most of the rest is code.
        place = data.draw(st.integers(16, min(len(broken), 2048) - 1))
        broken[place] = data.draw(st.integers(0, 255))
    size = data.draw(st.one_of(st.just(len(broken)), st.integers(0, len(broken))), label="size")
    try:
        image = load_image(bytes(broken[:size]), BASE)
    except DeviceError:
        return
    assert all(segment.address >= BASE for segment in image.segments)
