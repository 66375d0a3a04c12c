"""Ways into the compiler: ONNX files and graphs written by hand."""

from ago.frontend.builder import GraphBuilder, Value
from ago.frontend.load import load

__all__ = ["GraphBuilder", "Value", "load"]
