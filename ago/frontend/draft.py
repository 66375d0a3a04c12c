"""The graph that an import builds, and what is known of its values so far.

Read `GraphDraft` first. Invariant: a value is an input, a constant, or made by one canonical node;
what only depends on constants, and what has no elements, is a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ago.errors import ElementTypeError, IRError, ModelError, UnsupportedError
from ago.frontend.onnx_ops.base import Canonical, Context, Expansion, RefusalError
from ago.frontend.raw import AnyArray
from ago.ir.evaluate import is_modest
from ago.ir.graph import Graph, Node, TensorType
from ago.ir.ops import OPERATORS
from ago.ir.tensor import dtype_name, numpy_dtype


class GraphDraft:
    """Canonical nodes in order, and types and constants by value.

    Args:
        inputs: Types of the graph's inputs.
        stated: See `Context`.

    Attributes:
        types: Types of all values that are known.
        constants: Values of all constants.
        taken: Names of values that cannot be given again.
    """

    def __init__(
        self,
        inputs: Mapping[str, TensorType],
        stated: Callable[[], Mapping[str, TensorType]] = dict,
    ) -> None:
        self._inputs = dict(inputs)
        self._stated = stated
        self._foreign: dict[str, str] = {}
        self._nodes: list[Node] = []
        self._node_names: set[str] = set()
        self.types: dict[str, TensorType] = dict(inputs)
        self.constants: dict[str, AnyArray] = {}
        self.taken: set[str] = set(inputs)
        for name, kind in inputs.items():
            if kind.size == 0:
                self.define_constant(name, np.zeros(kind.shape, numpy_dtype(kind.dtype)))

    @property
    def context(self) -> Context:
        """What a translator may know."""
        return Context(self.types, self.constants, self.taken, self._stated)

    def fresh(self, stem: str) -> str:
        """Return a name for a value that no other has, and take it."""
        name = _distinct(stem, self.taken)
        self.taken.add(name)
        return name

    def define_constant(self, name: str, array: AnyArray) -> None:
        """Add a constant; one of an element type without a name may not be read."""
        self.taken.add(name)
        try:
            self.types[name] = TensorType(tuple(array.shape), dtype_name(array.dtype))
        except ValueError:
            self._foreign[name] = str(array.dtype)
            return
        self.constants[name] = array

    def require_known_elements(self, values: Sequence[str]) -> None:
        """Check that no value is a constant of an element type that AGO does not know.

        Raises:
            RefusalError: One is.
        """
        for value in values:
            if value in self._foreign:
                raise RefusalError(f"{value!r} has elements of type {self._foreign[value]}")

    def append(self, name: str, meaning: Canonical | Expansion, outputs: Sequence[str]) -> None:
        """Append what a node means.

        Args:
            name: Name of the node.
            meaning: One canonical node, or several.
            outputs: Names of its outputs; `""` where unused.

        Raises:
            RefusalError: If an operator has not so many outputs.
            ElementTypeError: If an operator has no rule for its inputs' elements.
            ModelError: If an operator does not fit its inputs.
        """
        if isinstance(meaning, Canonical):
            self._append(name, meaning, outputs)
        else:
            self._expand(name, meaning, outputs)

    def _expand(self, name: str, expansion: Expansion, outputs: Sequence[str]) -> None:
        _require_outputs(outputs, len(expansion.results))
        for value, array in expansion.constants.items():
            self.define_constant(value, array)
        made = {value: part.name for part in expansion.parts for value in part.outputs}
        names: dict[str, str] = {}
        copies = []
        for inner, outer in zip(expansion.results, outputs, strict=False):
            if outer and inner in made and inner not in names:
                names[inner] = outer
            elif outer:
                copies.append((inner, outer))
        main = next((made[inner] for inner in expansion.results if inner in names), None)
        for part in expansion.parts:
            inputs = tuple(names.get(value, value) for value in part.meaning.inputs)
            results = [names.get(value, value) for value in part.outputs]
            self.taken.update(results)
            part_name = name if part.name == main else part.name
            self._append(part_name, replace(part.meaning, inputs=inputs), results)
        for inner, outer in copies:
            self._append(outer, Canonical("Identity", (names.get(inner, inner),), {}), [outer])

    def _append(self, name: str, meaning: Canonical, outputs: Sequence[str]) -> None:
        kinds = [self.types[value] if value else None for value in meaning.inputs]
        types = OPERATORS[meaning.op].infer(kinds, meaning.attrs)
        _require_outputs(outputs, len(types))
        absent = [""] * (len(types) - len(outputs))
        names = [
            value or self.fresh(f"{name}/output_{k}")
            for k, value in enumerate([*outputs, *absent][: len(types)])
        ]
        if all(kind.size == 0 for kind in types):
            arrays = [np.zeros(kind.shape, numpy_dtype(kind.dtype)) for kind in types]
        else:
            self._require_elements(meaning)
            arrays = self._computed(meaning, types)
        if arrays:
            for value, array in zip(names, arrays, strict=True):
                self.define_constant(value, array)
            return
        self.types.update(zip(names, types, strict=True))
        node_name = _distinct(name, self._node_names)
        self._node_names.add(node_name)
        node = Node(node_name, meaning.op, meaning.inputs, tuple(names), meaning.attrs, types)
        self._nodes.append(node)

    def _require_elements(self, meaning: Canonical) -> None:
        """Refuse to combine tensors without elements with others that are not constant."""
        constant = all(value in self.constants for value in meaning.inputs if value)
        for value in meaning.inputs:
            if value and not constant and self.types[value].size == 0:
                raise RefusalError(f"{value!r} is empty")

    def _computed(self, meaning: Canonical, types: Sequence[TensorType]) -> list[AnyArray]:
        """Compute a node whose inputs are all constant; return nothing for others."""
        if any(value and value not in self.constants for value in meaning.inputs):
            return []
        before = sum(self.types[value].nbytes for value in meaning.inputs if value)
        if not is_modest(before, sum(kind.nbytes for kind in types)):
            return []
        arrays = [
            self.constants[value].astype(np.float64) if value else None for value in meaning.inputs
        ]
        with np.errstate(all="ignore"):
            results = OPERATORS[meaning.op].reference(arrays, meaning.attrs)
            return [
                np.asarray(result).astype(numpy_dtype(kind.dtype)).reshape(kind.shape)
                for result, kind in zip(results, types, strict=True)
            ]

    def finish(self, name: str, outputs: Sequence[str]) -> Graph:
        """Return the graph; each output is made by a node of its own.

        An output that is an input of the graph, or stands there twice, gets a name of its own.

        Args:
            name: Of the graph.
            outputs: Its outputs.

        Raises:
            UnsupportedError: If an output has elements that cannot be copied.
            ModelError: If the graph breaks a law.
        """
        names: list[str] = []
        for value in outputs:
            names.append(self._make_output(value, names))
        read = {value for node in self._nodes for value in node.inputs}
        params = {name: array for name, array in self.constants.items() if name in read}
        try:
            return Graph.make(name, self._inputs, self._nodes, names, params)
        except IRError as error:
            raise ModelError(f"the model is broken: {error}") from error

    def _make_output(self, value: str, others: Sequence[str]) -> str:
        """Make sure that a node makes an output, and return the output's name."""
        if value not in self.types:
            raise ModelError(f"nothing makes the output {value!r}")
        kind = self.types[value]
        copied = value in self._inputs or value in others
        if value not in self.constants and not copied:
            return value
        source = value
        name = self.fresh(f"{value}_copy") if copied else value
        if value in self.constants and not copied:
            source = self._rename_constant(value)
        try:
            types = OPERATORS["Identity"].infer([kind], {})
        except ElementTypeError as error:
            raise UnsupportedError([f"output {value!r}: {error}"]) from error
        node_name = _distinct(name, self._node_names)
        self._node_names.add(node_name)
        self._nodes.append(Node(node_name, "Identity", (source,), (name,), {}, types))
        return name

    def _rename_constant(self, value: str) -> str:
        """Give a constant another name, so that a node can make its own."""
        source = self.fresh(f"{value}.value")
        self.constants[source] = self.constants.pop(value)
        self._nodes = [
            replace(node, inputs=tuple(source if v == value else v for v in node.inputs))
            for node in self._nodes
        ]
        return source


def _distinct(stem: str, taken: set[str]) -> str:
    name, count = stem, 0
    while name in taken:
        count += 1
        name = f"{stem}_{count}"
    return name


def _require_outputs(outputs: Sequence[str], count: int) -> None:
    """Check that no output is used that nothing makes."""
    extra = [value for value in outputs[count:] if value]
    if extra:
        first = "only the first one" if count == 1 else f"only the first {count}"
        raise RefusalError(f"the output {extra[0]!r} is used; {first} may be")
