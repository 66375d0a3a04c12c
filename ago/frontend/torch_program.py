"""From a PyTorch module to a graph of canonical operators.

Read `from_torch` first. `torch.export` turns the module into a program of ATen operators, those
become the nodes of a `RawModel` in ONNX's terms, and the importer does the rest. Invariant: all
operators that are not supported are reported at once.
"""

from __future__ import annotations

import operator
import warnings
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ago.errors import InputError, UnsupportedError
from ago.frontend.load import import_model
from ago.frontend.onnx_ops.base import RefusalError
from ago.frontend.raw import AnyArray, RawInput, RawModel, RawNode
from ago.frontend.torch_call import Call
from ago.frontend.torch_layers import LAYERS
from ago.frontend.torch_tensors import TENSORS
from ago.ir.graph import Graph, TensorType
from ago.ir.tensor import dtype_name, numpy_dtype

if TYPE_CHECKING:
    import torch

HANDLERS = {**LAYERS, **TENSORS}
"""What each ATen operator means, by its name without the overload."""

_OPSET = 22
"""The version of ONNX's operators that the handlers write."""


def from_torch(module: torch.nn.Module, example_inputs: Sequence[torch.Tensor]) -> Graph:
    """Import a PyTorch module for inference.

    Args:
        module: The module; it is exported as it is in evaluation mode.
        example_inputs: One tensor for each argument of its `forward`; their shapes and element
            types become the graph's.

    Returns:
        The module as a graph; nodes are named after its submodules.

    Raises:
        UnsupportedError: If AGO cannot express some of its operators; it lists all of them.
        InputError: If `module` is no module, torch cannot export it, or is not installed.

    Example::

        graph = ago.from_torch(torchvision.models.mobilenet_v2(), [torch.zeros(1, 3, 224, 224)])
        net = ago.optimize(graph)
    """
    program = _export(module, tuple(example_inputs))
    return _Program(program).graph(type(module).__name__)


def _export(
    module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]
) -> torch.export.ExportedProgram:
    try:
        import torch
    except ImportError as error:
        raise InputError('from_torch needs torch: pip install "ago-compiler[torch]"') from error
    if not isinstance(module, torch.nn.Module):
        raise InputError(
            f"a torch Module is expected, not an object of type {type(module).__name__}"
        )
    training = module.training
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            # without decompositions: layers stay whole, and what works in place becomes pure
            return torch.export.export(module.eval(), inputs).run_decompositions({})
    except Exception as error:  # whatever it raises, torch cannot export this module
        raise InputError(f"torch cannot export the module: {error}") from error
    finally:
        module.train(training)


class _Program:
    """A program of ATen operators on its way into a `RawModel`; the handlers' `Reader`."""

    def __init__(self, program: torch.export.ExportedProgram) -> None:
        self._program = program
        self._inputs: list[RawInput] = []
        self._nodes: list[RawNode] = []
        self._weights: dict[str, AnyArray] = {}
        self._types: dict[str, TensorType] = {}
        self._values: dict[torch.fx.Node, str | tuple[str, ...]] = {}
        self._taken: Counter[str] = Counter()
        self._stem = ""
        self._problems: list[str] = []

    def graph(self, name: str) -> Graph:
        """Return the program as a graph.

        Raises:
            UnsupportedError: If some operators are not supported.
        """
        self._read_inputs()
        outputs: tuple[str, ...] = ()
        for node in self._program.graph.nodes:
            if node.op == "call_function":
                self._read_call(node)
            elif node.op == "output":
                outputs = tuple(self.value(value) for value in node.args[0])
        if self._problems:
            raise UnsupportedError(self._problems)
        model = RawModel(
            name=name,
            inputs=tuple(self._inputs),
            outputs=outputs,
            nodes=tuple(self._nodes),
            weights=self._weights,
            functions={},
            infer_types=lambda _: self._types,
        )
        return import_model(model)

    def _read_inputs(self) -> None:
        """Name the inputs, and read the parameters."""
        tensors = {**self._program.state_dict, **self._program.constants}
        specs = {spec.arg.name: spec for spec in self._program.graph_signature.input_specs}
        for node in self._program.graph.nodes:
            if node.op != "placeholder":
                continue
            target = specs[node.name].target
            if target is None:
                self._values[node] = node.name
                shape = tuple(int(extent) for extent in node.meta["val"].shape)
                self._inputs.append(RawInput(node.name, _dtype(node.meta["val"]), shape))
            else:
                self._values[node] = target
                self._weights[target] = tensors[target].detach().cpu().contiguous().numpy()

    def _read_call(self, node: torch.fx.Node) -> None:
        if node.target is operator.getitem:
            self._values[node] = self._values[node.args[0]][node.args[1]]
            return
        op = node.target._schema.name.partition("::")[2]
        self._stem = f"{_module_path(node)}{op}"
        if not node.all_input_nodes:
            result = node.target(*node.args, **node.kwargs)
            self._values[node] = self.constant(result.numpy())
            return
        try:
            if op not in HANDLERS:
                raise RefusalError("the operator is not supported")
            self._values[node] = HANDLERS[op](_call(node), self)
        except RefusalError as refusal:
            self._problems.append(f"node {node.name!r} (aten.{op}): {refusal}")
            several = isinstance(node.meta["val"], tuple | list)
            self._values[node] = ("",) * len(node.meta["val"]) if several else ""

    def value(self, argument: object, like: object = None) -> str:
        """Return the name of an argument: a tensor, or a number of the type of `like`."""
        found = self._values.get(argument) if isinstance(argument, Hashable) else None
        if isinstance(found, str):
            return found
        if not isinstance(argument, bool | int | float):
            raise RefusalError(f"the argument {argument!r}")
        dtype = "f32" if like is None else self.dtype(like)
        if isinstance(argument, float) and dtype != "f64":
            dtype = "f32"
        return self.constant(np.array(argument, numpy_dtype(dtype)))

    def constant(self, array: AnyArray) -> str:
        """Return the name of a new constant."""
        name = self._fresh(f"{self._stem}.constant")
        self._weights[name] = array
        return name

    def shape(self, argument: object) -> tuple[int, ...]:
        """Return the extents of a tensor."""
        return tuple(int(extent) for extent in _tensor(argument).shape)

    def dtype(self, argument: object) -> str:
        """Return the short name of a tensor's element type, or of a number's."""
        return _dtype(_tensor(argument)) if hasattr(argument, "meta") else "f32"

    def emit(self, op: str, *inputs: str, **attrs: object) -> str:
        """Append an ONNX node with one output, and return its name."""
        return self.emit_many(op, 1, *inputs, **attrs)[0]

    def emit_many(self, op: str, count: int, *inputs: str, **attrs: object) -> tuple[str, ...]:
        """Append an ONNX node, and return the names of its outputs."""
        name = self._fresh(self._stem)
        outputs = (name, *(self._fresh(f"{name}.{k}") for k in range(1, count)))
        self._nodes.append(RawNode(name, op, "", _OPSET, inputs, outputs, attrs))
        return outputs

    def _fresh(self, stem: str) -> str:
        self._taken[stem] += 1
        return stem if self._taken[stem] == 1 else f"{stem}_{self._taken[stem] - 1}"


def _call(node: torch.fx.Node) -> Call:
    """The arguments of a call by name, with the schema's defaults."""
    schema = node.target._schema.arguments
    arguments: dict[str, Any] = {
        argument.name: argument.default_value if argument.has_default_value() else None
        for argument in schema
    }
    arguments.update(zip(arguments, node.args, strict=False))
    arguments.update(node.kwargs)
    value = node.meta["val"]
    first = value[0] if isinstance(value, tuple | list) else value
    return Call(arguments, tuple(int(extent) for extent in first.shape), _dtype(first))


def _tensor(argument: object) -> torch.Tensor:
    """What torch knows of the tensor that an argument is."""
    return argument.meta["val"]  # type: ignore[attr-defined]


def _dtype(tensor: torch.Tensor) -> str:
    import torch

    return dtype_name(torch.empty(0, dtype=tensor.dtype).numpy().dtype)


def _module_path(node: torch.fx.Node) -> str:
    """The path of the submodule that makes a call, with a dot behind; empty for the module."""
    stack: Mapping[str, tuple[str, object]] = node.meta.get("nn_module_stack") or {}
    path = list(stack.values())[-1][0] if stack else ""
    return f"{path}." if path else ""
