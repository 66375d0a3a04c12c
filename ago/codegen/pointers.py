"""Where each pointer is computed: every term at the outermost loop that knows its variables.

Read `PointerPlan` first. A pointer used below a guard is formed inside that guard only, so no
address is formed above the test that makes it valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ago.codegen.ctext import C_TYPES, Names, index_text
from ago.codegen.tree import (
    Action,
    Block,
    Broadcast,
    Fetch,
    Guard,
    Load,
    Node,
    Piece,
    Pointer,
    Write,
)
from ago.ir.bounds import Ranges
from ago.ir.index import Atom, Index, variables


@dataclass(frozen=True, slots=True)
class Definition:
    """A pointer variable: `name` = `base` + `terms`; opaque if compilers may not see that."""

    name: str
    buffer: str
    base: str
    terms: Index
    dtype: str
    opaque: bool = False


class PointerPlan:
    """Names the pointers of one function as the printer walks into its scopes.

    A scope is the function, a loop's body or a guard's body. `enter` returns the definitions to
    print at its start; afterwards `name` gives each pointer's variable, until `leave`.
    """

    def __init__(
        self, pointers: tuple[Pointer, ...], names: Names, buffers: Mapping[str, str]
    ) -> None:
        """Plan for the pointers of a tree.

        Args:
            pointers: The tree's pointers.
            names: Where variables' names come from.
            buffers: C identifier of each buffer's own pointer.
        """
        self._pointers = pointers
        self._names = names
        self._buffers = buffers
        self._loops: list[str] = []
        self._scopes: list[dict[tuple[str, Index], str]] = []

    def enter(
        self,
        loop: str | None,
        used: frozenset[int],
        opaque: frozenset[int] = frozenset(),
    ) -> list[Definition]:
        """Start a scope.

        Args:
            loop: The loop variable it adds; None for the function and for a guard.
            used: Pointers used in the scope, outside of guards below it.
            opaque: Those among them, formed outside, that get an opaque copy in the scope.
        """
        if loop is not None:
            self._loops.append(loop)
        scope: dict[tuple[str, Index], str] = {}
        self._scopes.append(scope)
        definitions = [self._define(self._pointers[number], scope) for number in sorted(used)]
        definitions += [self._copy(self._pointers[number], scope) for number in sorted(opaque)]
        return [definition for definition in definitions if definition is not None]

    def enter_anchors(self, loop: str, anchored: frozenset[int]) -> list[Definition]:
        """Start a scope around a loop with opaque pointers to where the loop's own begin.

        Args:
            loop: The loop variable, not entered yet.
            anchored: Pointers that the loop moves and only loads from.

        Returns:
            One definition for each place; `leave(None)` ends the scope.
        """
        scope: dict[tuple[str, Index], str] = {}
        definitions = []
        for pointer in (self._pointers[number] for number in sorted(anchored)):
            start = self._known(pointer.base) + pointer.base.const
            if (pointer.buffer, start) not in scope:
                formed = self._formed(pointer.buffer, start)
                name = self._names.new(f"{pointer.buffer}_p")
                scope[pointer.buffer, start] = name
                base, terms = self._find(pointer.buffer, formed), start - formed
                definitions.append(
                    Definition(name, pointer.buffer, base, terms, pointer.dtype, opaque=True)
                )
        self._scopes.append(scope)
        return definitions

    def leave(self, loop: str | None) -> None:
        """End the scope that `enter` started last."""
        self._scopes.pop()
        if loop is not None:
            self._loops.pop()

    def name(self, number: int) -> str:
        """The variable of a pointer whose loops have all been entered."""
        pointer = self._pointers[number]
        return self._find(pointer.buffer, pointer.base)

    def _define(self, pointer: Pointer, scope: dict[tuple[str, Index], str]) -> Definition | None:
        """Form the part of a pointer that is known here, from the part that is formed already."""
        known = self._known(pointer.base)
        if known.terms == pointer.base.terms:
            known = pointer.base
        if not known.terms or self._lookup(pointer.buffer, known) is not None:
            return None
        formed = self._formed(pointer.buffer, known)
        base = self._find(pointer.buffer, formed)
        name = self._names.new(f"{pointer.buffer}_p")
        scope[pointer.buffer, known] = name
        return Definition(name, pointer.buffer, base, known - formed, pointer.dtype)

    def _copy(self, pointer: Pointer, scope: dict[tuple[str, Index], str]) -> Definition:
        """An opaque copy of a pointer that is formed outside of the scope."""
        base = self._find(pointer.buffer, pointer.base)
        name = self._names.new(f"{pointer.buffer}_p")
        scope[pointer.buffer, pointer.base] = name
        return Definition(name, pointer.buffer, base, Index(), pointer.dtype, opaque=True)

    def _is_known(self, atom: Atom) -> bool:
        return variables(Index(((atom, 1),))) <= set(self._loops)

    def _known(self, base: Index) -> Index:
        """The terms of an index whose loops have been entered."""
        return Index(tuple(term for term in base.terms if self._is_known(term[0])))

    def _formed(self, buffer: str, known: Index) -> Index:
        """The longest part of an index that a pointer of the buffer has been formed with."""
        wanted = set(known.terms)
        parts = [
            part
            for scope in self._scopes
            for other, part in scope
            if other == buffer and set(part.terms) <= wanted and part.const in (0, known.const)
        ]
        return max(parts, key=lambda part: (len(part.terms), part.const != 0), default=Index())

    def _lookup(self, buffer: str, base: Index) -> str | None:
        return next(
            (scope[buffer, base] for scope in reversed(self._scopes) if (buffer, base) in scope),
            None,
        )

    def _find(self, buffer: str, base: Index) -> str:
        found = self._lookup(buffer, base)
        if found is None and base == Index():
            return self._buffers[buffer]
        assert found is not None, f"pointer {buffer} + {base} is used outside of its loops"
        return found


def used_pointers(body: tuple[Piece, ...]) -> frozenset[int]:
    """Pointers used in a scope, outside of its guards."""
    used: set[int] = set()
    for piece in body:
        if isinstance(piece, Block):
            used.update(_block_pointers(piece))
        elif not isinstance(piece, Guard):
            used |= used_pointers(piece.body)
    return frozenset(used)


def _block_pointers(block: Block) -> set[int]:
    items: tuple[Node | Action, ...] = (*block.nodes, *block.actions)
    return {item.pointer for item in items if isinstance(item, Load | Broadcast | Write | Fetch)}


def definition_text(
    definition: Definition, constant: bool, names: Mapping[str, str], ranges: Ranges
) -> str:
    """The C declaration of a pointer variable.

    Args:
        definition: The pointer.
        constant: Whether nothing is stored through it.
        names: C identifier of each loop variable.
        ranges: Ranges of the loop variables.
    """
    value = definition.base
    if definition.terms != Index():
        value += _added(definition.terms, index_text(definition.terms, names, ranges))
    kind = ("const " if constant else "") + C_TYPES[definition.dtype]
    if definition.opaque:
        value = f"ago_opaque({value})" if constant else f"({kind} *)ago_opaque({value})"
    return f"{kind} *{definition.name} = {value};"


def _added(terms: Index, text: str) -> str:
    """The end of a sum in C: a sign and what is added."""
    if len(terms.terms) + bool(terms.const) > 1:
        return f" + ({text})"
    return f" - {text[1:]}" if text.startswith("-") else f" + {text}"
