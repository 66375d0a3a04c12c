"""Ways into the compiler: ONNX files, PyTorch modules, and graphs written by hand."""

from ago.frontend.builder import GraphBuilder, Value
from ago.frontend.load import load
from ago.frontend.torch_program import from_torch

__all__ = ["GraphBuilder", "Value", "from_torch", "load"]
