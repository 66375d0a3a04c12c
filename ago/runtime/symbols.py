"""Sizes of the functions in object files: ELF64, little-endian, of any machine.

Read `function_sizes` first.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ago.errors import DeviceError

_ELF64_LITTLE = b"\x7fELF\x02\x01\x01"
_SHT_SYMTAB = 2
_STT_FUNC = 2
_SECTION = "<IIQQQQIIQQ"
_SYMBOL = "<IBBHQQ"


def function_sizes(data: bytes) -> dict[str, int]:
    """Bytes of code of each function that an object file defines.

    Args:
        data: The file's content.

    Raises:
        DeviceError: It is no ELF64 file, or a broken one.
    """
    if data[:7] != _ELF64_LITTLE:
        raise DeviceError("not a little-endian ELF64 file")
    try:
        return _sizes(data)
    except (struct.error, ValueError, IndexError) as error:
        raise DeviceError(f"broken ELF file: {error}") from error


def _sizes(data: bytes) -> dict[str, int]:
    sections = list(_sections(data))
    sizes: dict[str, int] = {}
    for kind, offset, size, link in sections:
        if kind != _SHT_SYMTAB:
            continue
        names = sections[link][1]
        for name, info, _, _, _, nbytes in struct.iter_unpack(
            _SYMBOL, data[offset : offset + size]
        ):
            if info & 0xF == _STT_FUNC and nbytes:
                start = names + name
                text = data[start : data.index(0, start)].decode()
                sizes[text] = sizes.get(text, 0) + nbytes
    return sizes


def _sections(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Kind, offset, size and link of each section."""
    (table,) = struct.unpack_from("<Q", data, 40)
    entry_bytes, count = struct.unpack_from("<HH", data, 58)
    for index in range(count):
        fields = struct.unpack_from(_SECTION, data, table + index * entry_bytes)
        yield fields[1], fields[4], fields[5], fields[6]
