"""From an ONNX model to a graph of canonical operators.

Read `load` first. Invariant: nothing is guessed and nothing skipped; all unsupported nodes are
reported at once.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ago.errors import IRError, ModelError, UnsupportedError
from ago.frontend.folding import fold, fold_type
from ago.frontend.input_shapes import input_types
from ago.frontend.onnx_file import read_model
from ago.frontend.onnx_ops import Canonical, Context, RefusalError, find_translator
from ago.frontend.raw import AnyArray, RawModel, RawNode
from ago.ir.graph import Graph, Node, TensorType
from ago.ir.ops import OPERATORS
from ago.ir.tensor import dtype_name

if TYPE_CHECKING:
    import onnx


def load(
    model: str | os.PathLike[str] | onnx.ModelProto,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Graph:
    """Import an ONNX model.

    Args:
        model: Path of an ONNX file, or a model in memory.
        dims: Extents for symbolic dimensions by name, such as `{"batch": 1}`.
        shapes: Shapes for inputs by name; they also override static shapes of the file.

    Returns:
        The model as a graph, its names kept and its shape arithmetic computed.

    Raises:
        ModelError: If the file is broken, or a dimension is left open.
        UnsupportedError: If AGO cannot express some nodes; it lists all of them.
        InputError: If `model` is no model, or `dims` or `shapes` do not fit it.
    """
    raw = read_model(model)
    inputs = input_types(raw, dims or {}, shapes or {})
    return _Import(raw, inputs).run()


class _Import:
    """One model on its way into a graph."""

    def __init__(self, raw: RawModel, inputs: Mapping[str, TensorType]) -> None:
        self._raw = raw
        self._inputs = inputs
        self._constants: dict[str, AnyArray] = {}
        self._foreign: dict[str, str] = {}
        self._types: dict[str, TensorType] = dict(inputs)
        self._nodes: list[Node] = []
        self._problems: list[str] = []
        self._doubtful: set[str] = set()  # made from what was refused: no cause of its own
        self._defined = set(inputs)
        self._guesses: dict[str, TensorType] | None = None
        read = {value for node in raw.nodes for value in node.inputs}
        self._used = read | set(raw.outputs)

    def run(self) -> Graph:
        """Import all nodes.

        Raises:
            ModelError: If the model is broken.
            UnsupportedError: If some nodes are not supported.
        """
        for name, array in self._raw.weights.items():
            self._define_constant(name, array)
        for node in self._raw.nodes:
            self._check_names(node)
            try:
                self._import(node)
            except RefusalError as refusal:
                if refusal.value not in self._doubtful:
                    self._report(node, str(refusal))
                self._guess_outputs(node)
            except ModelError as error:
                raise ModelError(f"node {node.name!r} ({node.op}): {error}") from error
        if self._problems:
            raise UnsupportedError(self._problems)
        return self._finish()

    def _check_names(self, node: RawNode) -> None:
        for value in node.inputs:
            if value and value not in self._defined:
                raise ModelError(f"node {node.name!r} ({node.op}) reads {value!r} too early")
        for value in node.outputs:
            if value in self._defined:
                raise ModelError(f"the value {value!r} is defined twice")
        self._defined.update(value for value in node.outputs if value)

    def _import(self, node: RawNode) -> None:
        """Compute a node, or append what it means; leave its outputs unknown where inputs are."""
        if not self._doubtful.isdisjoint(node.inputs):
            self._doubtful.update(node.outputs)
        constant = self._fold(node)
        if constant is not None:
            self._define_constant(node.outputs[0], constant)
            return
        translator = find_translator(node)
        for value in node.inputs:
            if value in self._foreign:
                raise RefusalError(f"{value!r} has elements of type {self._foreign[value]}")
        known = all(value in self._types for value in node.inputs if value)
        if not known or not any(node.outputs):
            return
        extra = [value for value in node.outputs[1:] if value in self._used]
        if extra:
            raise RefusalError(f"the output {extra[0]!r} is used; only the first one may be")
        meaning = translator(node, Context(self._types, self._constants))
        self._append(node, meaning)

    def _fold(self, node: RawNode) -> AnyArray | None:
        first = node.input(0)
        if first in self._types:
            constant = fold_type(node, self._types[first])
            if constant is not None:
                return constant
        if any(value and value not in self._constants for value in node.inputs):
            return None
        return fold(node, [self._constants.get(value) for value in node.inputs])

    def _append(self, node: RawNode, meaning: Canonical) -> None:
        types = [self._types[value] if value else None for value in meaning.inputs]
        for value, kind in zip(meaning.inputs, types, strict=True):
            if kind is not None and kind.dtype != "f32":
                raise RefusalError(
                    f"{value!r} has elements of type {kind.dtype}; only float32", value
                )
            if kind is not None and kind.size == 0:
                raise RefusalError(f"{value!r} is empty")
        results = OPERATORS[meaning.op].infer(types, meaning.attrs)
        output = node.outputs[0]
        self._nodes.append(
            Node(node.name, meaning.op, meaning.inputs, (output,), meaning.attrs, results)
        )
        self._types[output] = results[0]

    def _define_constant(self, name: str, array: AnyArray) -> None:
        self._defined.add(name)
        try:
            self._types[name] = TensorType(tuple(array.shape), dtype_name(array.dtype))
        except ValueError:
            self._foreign[name] = str(array.dtype)
            return
        self._constants[name] = array

    def _report(self, node: RawNode, reason: str) -> None:
        """Note a node that is not supported."""
        known = ChainMap(self._types, self._inferred())
        shown = ", ".join(str(known.get(value, "?")) if value else "-" for value in node.inputs)
        operator = f"{node.domain}.{node.op}" if node.domain else node.op
        attributes = _attributes_text(node)
        self._problems.append(
            f"node {node.name!r} ({operator}): {reason}{attributes}; inputs: {shown or '-'}"
        )

    def _guess_outputs(self, node: RawNode) -> None:
        """Go on behind a refused node with the types that onnx knows of its outputs."""
        self._doubtful.update(node.outputs)
        inferred = self._inferred()
        self._types.update((value, inferred[value]) for value in node.outputs if value in inferred)

    def _inferred(self) -> dict[str, TensorType]:
        if self._guesses is None:
            self._guesses = dict(self._raw.infer_types(self._inputs))
        return self._guesses

    def _finish(self) -> Graph:
        for value in self._raw.outputs:
            self._make_output(value)
        read = {value for node in self._nodes for value in node.inputs}
        params = {name: array for name, array in self._constants.items() if name in read}
        try:
            return Graph.make(self._raw.name, self._inputs, self._nodes, self._raw.outputs, params)
        except IRError as error:
            raise ModelError(f"the model is broken: {error}") from error

    def _make_output(self, value: str) -> None:
        """Make sure that a node makes an output: a constant one is copied from a parameter."""
        if value not in self._defined:
            raise ModelError(f"nothing makes the output {value!r}")
        if value in self._inputs:
            problem = f"output {value!r}: it is an input of the model, so there is nothing to do"
            raise UnsupportedError([problem])
        if value not in self._constants:
            return
        kind = self._types[value]
        if kind.dtype != "f32" or kind.size == 0:
            raise UnsupportedError([f"output {value!r}: a constant {kind}"])
        source = f"{value}.value"
        while source in self._defined:
            source += "_"
        self._defined.add(source)
        self._constants[source] = self._constants.pop(value)
        self._nodes = [
            replace(node, inputs=tuple(source if v == value else v for v in node.inputs))
            for node in self._nodes
        ]
        self._nodes.append(Node(value, "Identity", (source,), (value,), {}, (kind,)))


def _attributes_text(node: RawNode) -> str:
    """The attributes that the file gives a node, shortened; empty if there are none."""
    plain = (int, float, str, tuple)
    texts = []
    for key, value in sorted(node.attrs.items()):
        text = repr(value) if isinstance(value, plain) else type(value).__name__
        texts.append(f"{key}={text if len(text) <= 40 else text[:37] + '...'}")
    return f"; attributes: {', '.join(texts)}" if texts else ""
