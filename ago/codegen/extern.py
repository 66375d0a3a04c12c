"""The C of a call of an extern function: its constants, then the call.

Read `extern_call` first.
"""

from __future__ import annotations

from collections.abc import Mapping

from ago.codegen.ctext import float_literal
from ago.ir.extern import CValue, Extern


def extern_call(extern: Extern, buffers: Mapping[str, str], constants: str) -> str:
    """The statements that call an extern's function.

    Args:
        extern: What is called.
        buffers: C expression of each buffer; that of `""` stands for an absent one.
        constants: An unused C identifier, for the struct of the constants.

    Returns:
        Indented lines of C.
    """
    function = extern.function
    members = "".join(
        f"        .{name} = {_literal(value)},\n" for name, value in function.constants.items()
    )
    arrays = (*extern.inputs, *extern.outputs, *extern.scratch)
    arguments = ", ".join([f"&{constants}", *(buffers[name] for name in arrays)])
    return (
        f"    static const {function.struct} {constants} = {{\n{members}    }};\n"
        f"    {function.name}({arguments});\n"
    )


def _literal(value: CValue) -> str:
    match value:
        case float():
            return float_literal(value)
        case tuple():
            return f"{{{', '.join(map(_literal, value)) or 0}}}"
        case _:
            return str(int(value)) if isinstance(value, bool) else str(value)
