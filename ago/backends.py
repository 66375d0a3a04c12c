"""The intrinsic table of each instruction set: what a target's code is generated with."""

from __future__ import annotations

from collections.abc import Mapping

from ago.backend_neon.neon import NEON
from ago.backend_x86.avx2 import AVX2
from ago.backend_x86.avx512 import AVX512
from ago.codegen.intrinsics import Intrinsics
from ago.codegen.portable import PORTABLE

INTRINSICS: Mapping[str, Intrinsics] = {
    "neon": NEON,
    "avx512": AVX512,
    "avx2": AVX2,
    "portable": PORTABLE,
}
"""Tables by `Target.isa`."""
