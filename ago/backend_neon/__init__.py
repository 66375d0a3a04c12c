"""The intrinsic table of AArch64's Advanced SIMD."""
