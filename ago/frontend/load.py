"""From an ONNX model to a graph of canonical operators.

Read `load` first. Invariant: nothing is guessed and nothing skipped that an output depends on; all
unsupported nodes are reported at once.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ago.errors import ElementTypeError, ModelError, UnsupportedError
from ago.frontend.control import unfold
from ago.frontend.draft import GraphDraft
from ago.frontend.folding import fold, fold_type, require_constant
from ago.frontend.input_shapes import fix_inputs, input_types, replaced_extents
from ago.frontend.onnx_file import read_model
from ago.frontend.onnx_functions import function_body
from ago.frontend.onnx_nodes import unknown_attributes
from ago.frontend.onnx_ops import RefusalError, find_translator
from ago.frontend.onnx_reference import reference_results
from ago.frontend.raw import AnyArray, RawGraph, RawModel, RawNode
from ago.frontend.rewrite import check_order, inline, live_nodes
from ago.ir.graph import Graph, TensorType

if TYPE_CHECKING:
    import numpy.typing as npt
    import onnx

_NONE: Mapping[str, Any] = {}

_MOST_NESTED = 64
"""Functions and branches inside each other, so that one that calls itself ends in an error."""


def load(
    model: str | os.PathLike[str] | onnx.ModelProto,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    constants: Mapping[str, npt.ArrayLike] | None = None,
) -> Graph:
    """Import an ONNX model.

    Shapes and element types of inner values and outputs follow from the operators; what the file
    declares of them is not read. Nodes that no output depends on are left out.

    Args:
        model: Path of an ONNX file, or a model in memory.
        dims: Extents for symbolic dimensions by name, such as `{"batch": 1}`.
        shapes: Shapes for inputs by name; they also override static shapes of the file.
        constants: Values for inputs by name, such as a shape that the model takes as an input. They
            are no inputs of the graph.

    Returns:
        The model as a graph, its names kept and its shape arithmetic computed.

    Raises:
        ModelError: If the file is broken, or a dimension is left open.
        UnsupportedError: If AGO cannot express some nodes; it lists all of them.
        InputError: If `model` is no model, or `dims`, `shapes` or `constants` do not fit it.
    """
    raw = fix_inputs(read_model(model), constants or {})
    return import_model(raw, dims or {}, shapes or {})


def import_model(
    raw: RawModel, dims: Mapping[str, int] = _NONE, shapes: Mapping[str, Sequence[int]] = _NONE
) -> Graph:
    """Import what was read of a model; see `load`."""
    inputs = input_types(raw, dims, shapes)
    try:
        return _Import(raw, inputs).run()
    except ModelError as error:
        replaced = replaced_extents(raw, inputs)
        if not replaced:
            raise
        raise ModelError(
            f"{error}\n  the file fixes {replaced}, and may hold numbers made from that: "
            "export the model with open dimensions to give them other sizes"
        ) from error


class _Import:
    """One model on its way into a graph."""

    def __init__(self, raw: RawModel, inputs: Mapping[str, TensorType]) -> None:
        self._raw = raw
        self._inputs = inputs
        self._draft = GraphDraft(inputs, self._inferred)
        self._problems: list[str] = []
        self._doubtful: set[str] = set()  # made from what was refused: no cause of its own
        self._defining: RawNode | None = None  # the node whose definition is being imported
        self._depth = 0
        self._reported: set[str] = set()
        self._reads: dict[str, tuple[str, ...]] = {}  # what each value is made from
        self._open: list[str] = []  # inputs that would have to be constant
        self._guesses: dict[str, TensorType] | None = None

    def run(self) -> Graph:
        """Import all nodes.

        Raises:
            ModelError: If the model is broken.
            UnsupportedError: If some nodes are not supported.
        """
        defined = check_order(self._raw.nodes, {*self._inputs, *self._raw.weights})
        for value in self._raw.outputs:
            if value not in defined:
                raise ModelError(f"nothing makes the output {value!r}")
        self._draft.taken.update(defined)
        for name, array in self._raw.weights.items():
            self._draft.define_constant(name, array)
        self._import_all(live_nodes(self._raw.nodes, self._raw.outputs))
        if self._problems:
            raise UnsupportedError(self._problems, self._open)
        return self._draft.finish(self._raw.name, self._raw.outputs)

    def _import_all(self, nodes: Sequence[RawNode]) -> None:
        self._depth += 1
        if self._depth > _MOST_NESTED:
            raise ModelError(f"functions or branches are nested more than {_MOST_NESTED} deep")
        for node in nodes:
            self._reads.update((value, node.reads) for value in node.outputs)
            try:
                self._import(node)
            except RefusalError as refusal:
                self._refuse(node, refusal)
            except ElementTypeError as error:
                self._refuse(node, RefusalError(str(error)))
            except ModelError as error:
                raise ModelError(f"node {node.name!r} ({node.op}): {error}") from error
        self._depth -= 1

    def _refuse(self, node: RawNode, refusal: RefusalError) -> None:
        if refusal.value not in self._doubtful:
            self._report(node, self._with_hint(refusal))
        self._guess_outputs(node)

    def _import(self, node: RawNode) -> None:
        """Compute a node, or append what it means; leave its outputs unknown where inputs are."""
        if not self._doubtful.isdisjoint(node.reads):
            self._doubtful.update(value for value in node.outputs if value)
        function = self._raw.functions.get((node.domain, node.op))
        if function is not None:
            body = function(node)
            self._import_all(inline(body, node.name, node.inputs, node.outputs, self._draft.fresh))
            return
        unknown = unknown_attributes(node)
        if unknown:
            since = f"in opset {node.version}"
            raise RefusalError(f"the operator has no attribute {unknown[0]!r} {since}")
        if self._fold(node):
            return
        if node.graphs:
            self._import_control(node)
            return
        require_constant(node, self._draft.constants)
        try:
            translator = find_translator(node)
        except RefusalError:
            if not self._import_otherwise(node):
                raise
            return
        if self._ready(node):
            meaning = translator(node, self._draft.context)
            self._draft.append(node.name, meaning, node.outputs)

    def _import_control(self, node: RawNode) -> None:
        """Import the branch taken or the iterations made, up to the first that is refused."""
        count = len(self._problems)
        for nodes in unfold(node, self._draft):
            self._import_all(nodes)
            if len(self._problems) > count:
                self._guess_outputs(node)
                return

    def _import_otherwise(self, node: RawNode) -> bool:
        """Import a node that has no translator; return whether that is possible."""
        arrays = self._constant_inputs(node)
        results = None if arrays is None else reference_results(node, arrays)
        if results is not None:
            self._define(node, results)
            return True
        types = self._draft.types
        if not self._ready(node):
            return False
        body = function_body(node, [types[value] if value else None for value in node.inputs])
        if body is None:
            return False
        self._import_definition(node, body)
        return True

    def _import_definition(self, node: RawNode, body: RawGraph) -> None:
        """Import what a node stands for; what is refused there is reported of the node itself."""
        outer, count = self._defining, len(self._problems)
        self._defining = outer or node
        self._import_all(inline(body, node.name, node.inputs, node.outputs, self._draft.fresh))
        self._defining = outer
        if len(self._problems) > count:
            self._guess_outputs(node)

    def _ready(self, node: RawNode) -> bool:
        """Return whether all inputs are known."""
        self._draft.require_known_elements(node.inputs)
        return all(value in self._draft.types for value in node.inputs if value)

    def _fold(self, node: RawNode) -> bool:
        """Compute shape arithmetic; return whether the node was that."""
        first = node.input(0)
        if first in self._draft.types:
            constant = fold_type(node, self._draft.types[first])
            if constant is not None:
                self._define(node, [constant])
                return True
        arrays = self._constant_inputs(node)
        if arrays is None:
            return False
        constant = fold(node, arrays)
        if constant is not None:
            self._define(node, [constant])
            return True
        if any(array is not None and array.dtype.kind not in "iub" for array in arrays):
            return False
        results = reference_results(node, arrays)
        if results is None:
            return False
        self._define(node, results)
        return True

    def _constant_inputs(self, node: RawNode) -> list[AnyArray | None] | None:
        """Return the inputs of a node if all are constant."""
        constants = self._draft.constants
        if any(value not in constants for value in node.inputs if value):
            return None
        return [constants.get(value) for value in node.inputs]

    def _define(self, node: RawNode, results: Sequence[AnyArray]) -> None:
        for value, array in zip(node.outputs, results, strict=False):
            if value:
                self._draft.define_constant(value, array)

    def _report(self, node: RawNode, reason: str) -> None:
        """Note a node that is not supported; of one that stands for several, the first cause."""
        if self._defining is not None:
            node, reason = self._defining, f"its definition needs {node.op}: {reason}"
        if node.name in self._reported:
            return
        self._reported.add(node.name)
        known = ChainMap(self._draft.types, self._inferred())
        shown = ", ".join(str(known.get(value, "?")) if value else "-" for value in node.inputs)
        operator = f"{node.domain}.{node.op}" if node.domain else node.op
        attributes = _attributes_text(node)
        self._problems.append(
            f"node {node.name!r} ({operator}): {reason}{attributes}; inputs: {shown or '-'}"
        )

    def _with_hint(self, refusal: RefusalError) -> str:
        """Return a refusal's text, with the way out where inputs of the model are at fault."""
        inputs = self._origins(refusal.value)
        if not inputs:
            return str(refusal)
        self._open.extend(inputs)
        given = ", ".join(f"{name!r}: ..." for name in inputs)
        return f"{refusal}; to fix it give constants={{{given}}}"

    def _origins(self, value: str) -> list[str]:
        """Return the inputs of the model from which a value is made; none if one is an image."""
        seen, todo = {value}, [value]
        while todo:
            reads = self._reads.get(todo.pop(), ())
            more = {v for v in reads if v not in seen and v not in self._draft.constants}
            seen |= more
            todo += sorted(more)
        found = [name for name in self._inputs if name in seen]
        small = all(self._inputs[name].rank <= 1 for name in found)
        return found if small else []

    def _guess_outputs(self, node: RawNode) -> None:
        """Go on behind a refused node with the types that onnx knows of its outputs."""
        outputs = [value for value in node.outputs if value]
        self._doubtful.update(outputs)
        inferred = self._inferred()
        self._draft.types.update((value, inferred[value]) for value in outputs if value in inferred)

    def _inferred(self) -> dict[str, TensorType]:
        if self._guesses is None:
            self._guesses = dict(self._raw.infer_types(self._inputs))
        return self._guesses


def _attributes_text(node: RawNode) -> str:
    """The attributes that the file gives a node, shortened; empty if there are none."""
    plain = (int, float, str, tuple)
    texts = []
    for key, value in sorted(node.attrs.items()):
        text = repr(value) if isinstance(value, plain) else type(value).__name__
        texts.append(f"{key}={text if len(text) <= 40 else text[:37] + '...'}")
    return f"; attributes: {', '.join(texts)}" if texts else ""
