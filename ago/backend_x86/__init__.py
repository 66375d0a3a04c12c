"""Intrinsic tables of x86-64 hosts."""
