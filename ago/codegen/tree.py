"""What instruction selection produces: a tree of loops, guards and straight-line blocks.

Read `Block` first. Its nodes are pure values, each stored once and addressed by position; its
actions say in which order registers and memory change. Loop variables of unrolled and vector loops
are gone: addresses are a pointer (a buffer plus terms of serial loops) and a constant offset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ago.ir.index import Index
from ago.ir.value import Condition


@dataclass(frozen=True, slots=True)
class Pointer:
    """`buffer + base`, in elements of type `dtype`; only anchored pointers have a constant part."""

    buffer: str
    base: Index
    dtype: str = "f32"


@dataclass(frozen=True, slots=True)
class Load:
    """Elements from memory; vectors are of float32.

    Attributes:
        pointer: Number of the pointer in the function's list.
        offset: Elements behind it.
        lanes: 0 for a scalar, else how many lanes of a vector are loaded; the others are 0.
        version: How often the block had stored into the buffer before.
    """

    pointer: int
    offset: int
    lanes: int
    version: int = 0


@dataclass(frozen=True, slots=True)
class Broadcast:
    """One float from memory in all lanes; fields as in `Load`."""

    pointer: int
    offset: int
    version: int = 0


@dataclass(frozen=True, slots=True)
class Lane:
    """Lane `lane` of the node `vector`, in all lanes."""

    vector: int
    lane: int


@dataclass(frozen=True, slots=True)
class Shuffle:
    """A vector of lanes of two others.

    Attributes:
        first: A vector node.
        second: Another, or the same.
        lanes: For each lane its number among those of `first`, then of `second`; -1 for any value.
    """

    first: int
    second: int
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """Lane `lane` of the node `vector`, as a scalar."""

    vector: int
    lane: int


@dataclass(frozen=True, slots=True)
class Number:
    """A constant, as a vector or a scalar."""

    value: float
    vector: bool
    dtype: str = "f32"


@dataclass(frozen=True, slots=True)
class Ordinal:
    """An index in variables of serial loops, as an i64."""

    index: Index


@dataclass(frozen=True, slots=True)
class Register:
    """A named variable after its `version`-th assignment in the block."""

    name: str
    vector: bool
    version: int = 0


@dataclass(frozen=True, slots=True)
class Apply:
    """A scalar function, on vectors by a row of the intrinsic table; conditions are lane masks."""

    function: str
    args: tuple[int, ...]
    vector: bool


@dataclass(frozen=True, slots=True)
class Collect:
    """Scalar nodes, one a lane; a single one goes to all lanes."""

    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Choose:
    """`then` where every index of the condition is at least 0; the other is not evaluated."""

    condition: Condition
    then: int
    otherwise: int


Node = (
    Load
    | Broadcast
    | Lane
    | Shuffle
    | Element
    | Number
    | Ordinal
    | Register
    | Apply
    | Collect
    | Choose
)


def operands(node: Node) -> tuple[int, ...]:
    """Positions of the nodes that `node` uses."""
    match node:
        case Apply(_, args):
            return args
        case Collect(lanes):
            return lanes
        case Choose(_, then, otherwise):
            return (then, otherwise)
        case Shuffle(first, second, _):
            return (first, second)
        case Lane(vector, _) | Element(vector, _):
            return (vector,)
        case _:
            return ()


@dataclass(frozen=True, slots=True)
class Assign:
    """Sets a named variable to a node."""

    register: str
    node: int
    stage: str


@dataclass(frozen=True, slots=True)
class Write:
    """Stores a node; fields as in `Load`."""

    pointer: int
    offset: int
    lanes: int
    node: int
    stage: str


@dataclass(frozen=True, slots=True)
class Fetch:
    """A hint that memory will be read soon; fields as in `Load`."""

    pointer: int
    offset: int


Action = Assign | Write | Fetch


@dataclass(frozen=True, slots=True)
class Block:
    """Straight-line code.

    Attributes:
        nodes: Pure values; an action evaluates its node and what that uses.
        actions: Changes of registers and memory, in order.
        lazy: Nodes that only one branch of a `Choose` may evaluate, so they stay inside it.
    """

    nodes: tuple[Node, ...]
    actions: tuple[Action, ...]
    lazy: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Loop:
    """A serial loop over `[lo, hi)`.

    Attributes:
        name: Its variable.
        lo: First value.
        hi: Behind the last value.
        body: What it repeats.
        opaque: Pointers that the compiler must take for new ones in each iteration.
        anchored: Pointers whose part outside of the loop the compiler must take for a new one.
        parallel: Whether its iterations may run at the same time.
    """

    name: str
    lo: Index
    hi: Index
    body: tuple[Piece, ...]
    opaque: frozenset[int] = frozenset()
    anchored: frozenset[int] = frozenset()
    parallel: bool = False


@dataclass(frozen=True, slots=True)
class Guard:
    """Runs its body where every index of the condition is at least 0."""

    condition: Condition
    body: tuple[Piece, ...]


Piece = Block | Loop | Guard


@dataclass(frozen=True, slots=True)
class RegisterVariable:
    """A variable that holds a vector, or one element, of a register buffer."""

    name: str
    buffer: str
    vector: bool
    dtype: str = "f32"


@dataclass(frozen=True, slots=True)
class Tree:
    """A whole function.

    Attributes:
        body: Its pieces in order.
        pointers: Pointers by number.
        registers: Every register variable.
    """

    body: tuple[Piece, ...]
    pointers: tuple[Pointer, ...]
    registers: tuple[RegisterVariable, ...]


def map_blocks(body: tuple[Piece, ...], change: Callable[[Block], Block]) -> tuple[Piece, ...]:
    """`body` with every block in it, also below loops and guards, replaced by `change(block)`."""
    return tuple(
        change(piece)
        if isinstance(piece, Block)
        else replace(piece, body=map_blocks(piece.body, change))
        for piece in body
    )
