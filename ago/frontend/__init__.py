"""Ways into the compiler: ONNX files and graphs written by hand."""

from ago.frontend.builder import GraphBuilder, Value

__all__ = ["GraphBuilder", "Value"]
