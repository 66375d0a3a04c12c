"""Element types of values: what type each has, and whether its operands fit.

Read `value_type` first. Invariant: in a program that `ago.ir.verify.verify` accepts, every call's
operands have a type that its function accepts, and a statement stores what its buffer holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ago.ir.functions import FUNCTIONS
from ago.ir.nest import Buffer, Leaf, Reduce, Stage
from ago.ir.value import Call, Const, Load, Position, Select, Value

Types = Mapping[str, str]
"""Element type of each buffer, by name; what is missing is f32."""


def buffer_types(buffers: Iterable[Buffer]) -> dict[str, str]:
    """The element types of buffers by name."""
    return {buffer.name: buffer.dtype for buffer in buffers}


def value_type(value: Value, types: Types) -> str:
    """The element type of a value, also of an ill-typed one.

    Args:
        value: The value.
        types: Element types of the buffers it loads from.
    """
    match value:
        case Const(_, dtype):
            return dtype
        case Position():
            return "i64"
        case Load(buffer, _):
            return types.get(buffer, "f32")
        case Select(_, then, _):
            return value_type(then, types)
        case Call(function, args):
            row = FUNCTIONS.get(function)
            if row is not None and row.result is not None:
                return row.result
            return value_type(args[-1], types) if args else "f32"


def mistyped(value: Value, types: Types) -> str:
    """What is wrong with the types within a value; an empty string where all fit."""
    match value:
        case Call(function, args):
            return next(filter(None, (mistyped(a, types) for a in args)), "") or _call_mistake(
                function, [value_type(a, types) for a in args]
            )
        case Select(_, then, otherwise):
            found = mistyped(then, types) or mistyped(otherwise, types)
            branches = value_type(then, types), value_type(otherwise, types)
            if found or branches[0] == branches[1]:
                return found
            return f"the branches of a select are {branches[0]} and {branches[1]}"
        case _:
            return ""


def _call_mistake(function: str, operands: list[str]) -> str:
    row = FUNCTIONS[function]
    rest = operands
    if row.condition:
        first, *rest = operands
        if first != "bool":
            return f"the condition of {function} is {first}, not bool"
    if len(set(rest)) > 1:
        return f"the operands of {function} are {' and '.join(rest)}; cast one of them"
    if rest[0] not in row.accepts:
        return f"{function} takes {', '.join(sorted(row.accepts))}, not {rest[0]}"
    return ""


def is_real(value: Value, types: Types) -> bool:
    """Whether a value is computed in float32 throughout, but for conditions of `where`.

    Such a value can be a vector, its conditions lane masks. A condition itself is not real.
    """
    return value_type(value, types) == "f32" and is_lanewise(value, types)


def is_lanewise(value: Value, types: Types) -> bool:
    """Whether a value can be a vector or, where it is a condition, a lane mask."""
    match value:
        case Const(_, dtype):
            return dtype == "f32"
        case Load(buffer, _):
            return types.get(buffer, "f32") == "f32"
        case Position():
            return False
        case Select(_, then, otherwise):
            return is_real(then, types) and is_real(otherwise, types)
        case Call(_, args):
            fits = value_type(value, types) in ("f32", "bool")
            return fits and all(is_lanewise(a, types) for a in args)


def is_real_leaf(leaf: Leaf, types: Types) -> bool:
    """Whether a statement computes float32 throughout and stores it."""
    values = (leaf.init, leaf.value) if isinstance(leaf, Reduce) else (leaf.value,)
    return types.get(leaf.buffer, "f32") == "f32" and all(is_real(v, types) for v in values)


def is_real_stage(stage: Stage, types: Types) -> bool:
    """Whether a stage computes float32 throughout and stores it."""
    return is_real_leaf(stage.leaf(), types)
