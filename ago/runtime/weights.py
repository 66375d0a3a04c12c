"""The weights of a model as files and programs hold them: a header, then the constants.

Read `weights_image` first. The header says which code the weights belong to and what their hash is;
`NAME_init` refuses anything else. Its layout is `ago_weights_header` of `csrc/ago_model.h`.
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

HEADER_BYTES = 64
"""Size of the header; the constants behind it keep the alignment of the whole."""

_HEADER = "<QQQQ32x"
_MAGIC = 0x01535447574F4741
_PRIME = 0x9E3779B97F4A7C15


def weights_image(constants: bytes, fingerprint: int) -> bytes:
    """The content of `NAME.weights`.

    Args:
        constants: The blob that generated code reads.
        fingerprint: Of that code, 64 bits.

    Returns:
        Header, constants and padding, in multiples of 64 bytes; nothing for no constants.
    """
    if not constants:
        return b""
    padded = constants + bytes(-len(constants) % HEADER_BYTES)
    size = HEADER_BYTES + len(padded)
    return struct.pack(_HEADER, _MAGIC, size, fingerprint, weights_hash(padded)) + padded


def weights_hash(constants: bytes) -> int:
    """The polynomial sum over all 64-bit words that the header holds.

    Args:
        constants: A multiple of eight bytes.
    """
    words = np.frombuffer(constants, "<u8")
    powers: npt.NDArray[np.uint64] = np.full(words.size, _PRIME, np.uint64)
    powers[:1] = 1
    return int(np.dot(words[::-1], np.multiply.accumulate(powers)))
