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
    """A pointer variable: `name` = `base` + `terms`, or an opaque copy of `base`."""

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
        known = Index(tuple(term for term in pointer.base.terms if self._is_known(term[0])))
        if not known.terms or self._lookup(pointer.buffer, known) is not None:
            return None
        base, formed = self._longest_formed(pointer.buffer, known)
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

    def _longest_formed(self, buffer: str, known: Index) -> tuple[str, Index]:
        best_name, best = self._buffers[buffer], Index()
        wanted = set(known.terms)
        for scope in self._scopes:
            for (other, part), name in scope.items():
                if (
                    other == buffer
                    and set(part.terms) <= wanted
                    and len(part.terms) > len(best.terms)
                ):
                    best_name, best = name, part
        return best_name, best

    def _lookup(self, buffer: str, base: Index) -> str | None:
        return next(
            (scope[buffer, base] for scope in reversed(self._scopes) if (buffer, base) in scope),
            None,
        )

    def _find(self, buffer: str, base: Index) -> str:
        found = self._lookup(buffer, base)
        if found is None and not base.terms:
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
    if definition.opaque:
        return f"const float *{definition.name} = ago_opaque({definition.base});"
    terms = index_text(definition.terms, names, ranges)
    sign = "+"
    if terms.startswith("-") and len(definition.terms.terms) == 1:
        sign, terms = "-", terms[1:]
    elif len(definition.terms.terms) > 1:
        terms = f"({terms})"
    kind = ("const " if constant else "") + C_TYPES[definition.dtype]
    return f"{kind} *{definition.name} = {definition.base} {sign} {terms};"
