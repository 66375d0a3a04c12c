"""A loader for the shared libraries AGO builds: ELF64, AArch64, no dependency on other libraries.

Read `load_image` first. It does what the dynamic linker would: place the segments, apply the
relocations, look up the exported functions. What it does not know it refuses, rather than guess:
an image it returns is ready to run.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ago.errors import DeviceError

_ELF64_LITTLE = b"\x7fELF\x02\x01\x01"
_ET_DYN = 3
_EM_AARCH64 = 183

_PT_LOAD, _PT_DYNAMIC, _PT_TLS = 1, 2, 7
_PF_X, _PF_W = 1, 2

_DT_NEEDED, _DT_PLTRELSZ, _DT_HASH, _DT_STRTAB, _DT_SYMTAB = 1, 2, 4, 5, 6
_DT_RELA, _DT_RELASZ, _DT_JMPREL = 7, 8, 23
_DT_INIT, _DT_INIT_ARRAY, _DT_RELR, _DT_GNU_HASH = 12, 25, 36, 0x6FFFFEF5
_REFUSED_TAGS = {
    _DT_NEEDED: "it depends on another shared library",
    _DT_INIT: "it has an initialiser",
    _DT_INIT_ARRAY: "it has initialisers",
    _DT_RELR: "it has packed relocations (DT_RELR)",
}

_R_ABS64, _R_GLOB_DAT, _R_JUMP_SLOT, _R_RELATIVE = 257, 1025, 1026, 1027

_MAX_IMAGE_BYTES = 1 << 30
_SYMBOL_BYTES = 24
_RELOCATION_BYTES = 24
_SHN_UNDEF = 0
_STB_WEAK = 2


@dataclass(frozen=True, slots=True)
class Segment:
    """A range of memory as it stands before the first instruction.

    Attributes:
        address: Where it starts.
        data: Its content, zero-filled to its size in memory.
        is_executable: Holds code.
        is_writable: May be written to.
    """

    address: int
    data: bytes
    is_executable: bool
    is_writable: bool


@dataclass(frozen=True, slots=True)
class Image:
    """A shared library placed in memory.

    Attributes:
        segments: In order of address; they do not overlap.
        symbols: Address of each symbol the library exports.
    """

    segments: tuple[Segment, ...]
    symbols: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    value: int  # address before placement
    is_defined: bool
    is_weak: bool


def load_image(data: bytes, base: int) -> Image:
    """Place a shared library in memory.

    Args:
        data: The file's content.
        base: Address that its address 0 is mapped to; a multiple of the page size.

    Raises:
        DeviceError: The file is not a shared library that `ago.runtime.build` makes for AArch64.
    """
    try:
        return _Loader(data, base).image()
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise DeviceError(f"broken ELF file: {error}") from error


class _Loader:
    """The file's memory, seen by the addresses the file uses (before `base` is added)."""

    def __init__(self, data: bytes, base: int) -> None:
        self._base = base
        if data[:7] != _ELF64_LITTLE:
            raise DeviceError("not a little-endian ELF64 file")
        kind, machine = struct.unpack_from("<HH", data, 16)
        if kind != _ET_DYN or machine != _EM_AARCH64:
            raise DeviceError(
                f"not a shared library for AArch64 (e_type {kind}, e_machine {machine}; expected "
                f"{_ET_DYN} and {_EM_AARCH64}): build it for a target such as cortex-a76"
            )
        self._loads: list[tuple[int, bytearray, int]] = []  # address, content, flags
        self._dynamic: list[tuple[int, int]] = []  # tag, value
        self._read_segments(data)
        for tag, value in self._dynamic:
            if tag in _REFUSED_TAGS:
                raise DeviceError(f"cannot load the library: {_REFUSED_TAGS[tag]} ({value:#x})")
        self._tags = dict(self._dynamic)

    def image(self) -> Image:
        symbols = self._symbols()
        for table, size in ((_DT_RELA, _DT_RELASZ), (_DT_JMPREL, _DT_PLTRELSZ)):
            start = self._tags.get(table, 0)
            for offset in range(0, self._tags.get(size, 0), _RELOCATION_BYTES):
                self._relocate(self._unpack("<QQq", start + offset), symbols)
        segments = tuple(
            Segment(self._base + address, bytes(content), bool(flags & _PF_X), bool(flags & _PF_W))
            for address, content, flags in sorted(self._loads, key=lambda load: load[0])
        )
        exported = {s.name: self._base + s.value for s in symbols if s.name and s.is_defined}
        return Image(segments, exported)

    def _read_segments(self, data: bytes) -> None:
        (table,) = struct.unpack_from("<Q", data, 32)
        entry_size, count = struct.unpack_from("<HH", data, 54)
        for index in range(count):
            kind, flags, offset, address, _, in_file, in_memory, _ = struct.unpack_from(
                "<IIQQQQQQ", data, table + index * entry_size
            )
            content = data[offset : offset + in_file]
            if len(content) != in_file:
                raise DeviceError("broken ELF file: a segment reaches beyond its end")
            if in_memory < in_file or address + in_memory > _MAX_IMAGE_BYTES:
                raise DeviceError(
                    f"broken ELF file: a segment of {in_memory} bytes at {address:#x}"
                )
            if kind == _PT_LOAD:
                padded = bytearray(content) + bytes(in_memory - in_file)
                self._loads.append((address, padded, flags))
            elif kind == _PT_DYNAMIC:
                self._dynamic = list(struct.iter_unpack("<QQ", content))
                self._dynamic = self._dynamic[: self._dynamic.index((0, 0))]
            elif kind == _PT_TLS:
                raise DeviceError("cannot load the library: it has thread-local variables")

    def _find(self, address: int) -> tuple[bytearray, int]:
        """The segment content that holds an address, and the offset in it."""
        for start, content, _ in self._loads:
            if start <= address < start + len(content):
                return content, address - start
        raise DeviceError(f"broken ELF file: address {address:#x} is in no segment")

    def _unpack(self, layout: str, address: int) -> tuple[int, ...]:
        content, offset = self._find(address)
        return struct.unpack_from(layout, content, offset)

    def _symbols(self) -> list[_Symbol]:
        table, names = self._tags.get(_DT_SYMTAB, 0), self._tags.get(_DT_STRTAB, 0)
        symbols = []
        for index in range(self._symbol_count()):
            name, info, _, section, value, _ = self._unpack(
                "<IBBHQQ", table + index * _SYMBOL_BYTES
            )
            content, offset = self._find(names + name)
            text = content[offset : content.index(0, offset)].decode()
            symbols.append(_Symbol(text, value, section != _SHN_UNDEF, info >> 4 == _STB_WEAK))
        return symbols

    def _symbol_count(self) -> int:
        """Length of the symbol table, which only the hash tables tell."""
        if _DT_HASH in self._tags:
            return self._unpack("<II", self._tags[_DT_HASH])[1]
        if _DT_GNU_HASH not in self._tags:
            raise DeviceError("cannot load the library: it has no symbol hash table")
        start = self._tags[_DT_GNU_HASH]
        buckets, first, bloom_words, _ = self._unpack("<IIII", start)
        bucket_table = start + 16 + 8 * bloom_words
        last = max(self._unpack(f"<{buckets}I", bucket_table), default=0)
        if last < first:
            return first  # nothing is exported
        chains = bucket_table + 4 * buckets
        return last + 1 + sum(1 for _ in self._chain_tail(chains + 4 * (last - first)))

    def _chain_tail(self, address: int) -> Iterator[int]:
        """The entries after the first of a GNU hash chain; the last one has its lowest bit set."""
        while not self._unpack("<I", address)[0] & 1:
            address += 4
            yield address

    def _relocate(self, entry: tuple[int, ...], symbols: list[_Symbol]) -> None:
        place, info, addend = entry
        kind, index = info & 0xFFFFFFFF, info >> 32
        if kind == _R_RELATIVE:
            value = self._base + addend
        elif kind in (_R_ABS64, _R_GLOB_DAT, _R_JUMP_SLOT):
            value = self._address_of(symbols[index]) + addend
        else:
            raise DeviceError(f"cannot load the library: relocation type {kind} at {place:#x}")
        content, offset = self._find(place)
        struct.pack_into("<Q", content, offset, value & 0xFFFFFFFFFFFFFFFF)

    def _address_of(self, symbol: _Symbol) -> int:
        if symbol.is_defined:
            return self._base + symbol.value
        if symbol.is_weak:
            return 0
        raise DeviceError(f"cannot load the library: undefined symbol {symbol.name!r}")
