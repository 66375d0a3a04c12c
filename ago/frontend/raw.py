"""A model file as plain Python values, before AGO knows what its operators mean.

Read `RawModel` first. Invariant: no protobuf types appear here, so that the rest of the importer
does without the onnx package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy.typing as npt

from ago.ir.graph import TensorType

AnyArray: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class RawNode:
    """One node of the file.

    Attributes:
        name: Its unique name.
        op: The file's operator.
        domain: The operator's domain; `""` is ONNX's own.
        version: The file's opset version of that domain.
        inputs: Values read; `""` is an absent optional one.
        outputs: Values made; `""` is an unused optional one.
        attrs: The attributes that the file gives: integers, floats, strings, tuples of them,
            arrays and `RawGraph`s. Anything else is an object that no operator here accepts.
    """

    name: str
    op: str
    domain: str
    version: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Mapping[str, object]

    def input(self, position: int) -> str:
        """Return the name of an input, or `""` where it is absent."""
        return self.inputs[position] if position < len(self.inputs) else ""

    def output(self, position: int) -> str:
        """Return the name of an output, or `""` where nothing reads it."""
        return self.outputs[position] if position < len(self.outputs) else ""

    @property
    def graphs(self) -> tuple[RawGraph, ...]:
        """The graphs among its attributes: branches and loop bodies."""
        return tuple(value for value in self.attrs.values() if isinstance(value, RawGraph))

    @property
    def reads(self) -> tuple[str, ...]:
        """All values that it reads, those captured by its graphs included."""
        captured = (value for graph in self.graphs for value in graph.captures)
        return tuple(value for value in (*self.inputs, *captured) if value)


@dataclass(frozen=True, slots=True)
class RawGraph:
    """The body of a branch, loop or function.

    Attributes:
        inputs: Names of its formal inputs.
        outputs: Names of its outputs.
        nodes: Its nodes in the file's order.
        weights: Its constants.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[RawNode, ...]
    weights: Mapping[str, AnyArray]

    @property
    def captures(self) -> tuple[str, ...]:
        """The values of enclosing graphs that it reads."""
        known = {*self.inputs, *self.weights}
        known.update(value for node in self.nodes for value in node.outputs)
        read = [value for node in self.nodes for value in node.reads]
        return tuple(value for value in dict.fromkeys((*read, *self.outputs)) if value not in known)


LocalFunction: TypeAlias = Callable[[RawNode], RawGraph]
"""A function of a model: from a node that calls it to its body."""


@dataclass(frozen=True, slots=True)
class RawInput:
    """One input of the file that is no weight.

    Attributes:
        name: Its name.
        dtype: Its element type: a short name, or ONNX's where there is none.
        dims: Per axis an extent, the name of a symbolic dimension, or None where the file says
            nothing; None if even the rank is unknown.
    """

    name: str
    dtype: str
    dims: tuple[int | str | None, ...] | None


@dataclass(frozen=True, slots=True)
class RawModel:
    """A model file.

    Attributes:
        name: The graph's name.
        inputs: Its inputs without the weights, in order.
        outputs: Names of its outputs, in order; one may stand there twice.
        nodes: Its nodes in the file's order.
        weights: Its initializers.
        functions: Its own functions, by domain and name.
        infer_types: Given types of the inputs, asks onnx for the types of all values that it can
            infer; only reports of unsupported nodes need it.
    """

    name: str
    inputs: tuple[RawInput, ...]
    outputs: tuple[str, ...]
    nodes: tuple[RawNode, ...]
    weights: Mapping[str, AnyArray]
    functions: Mapping[tuple[str, str], LocalFunction]
    infer_types: Callable[[Mapping[str, TensorType]], Mapping[str, TensorType]]
