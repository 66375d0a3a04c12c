"""Code generation: a scheduled program becomes C with intrinsics."""
