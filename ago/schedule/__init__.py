"""Schedule primitives: pure functions from one program to the next, and traces of them."""
