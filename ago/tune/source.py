"""The C text of many candidate functions in one file.

Read `candidates_text` first. Each function becomes `candidate_K`, and is called through
`run_candidate_K`, which takes all its arguments as one array of pointers.
"""

from __future__ import annotations

from collections.abc import Mapping

from ago.codegen.emit import Function
from ago.codegen.intrinsics import Intrinsics
from ago.codegen.model import helper_text


def entry_name(number: int) -> str:
    """The function that calls candidate `number`."""
    return f"run_candidate_{number}"


def candidates_text(
    functions: Mapping[int, Function], intrinsics: Intrinsics, linkage: str = "AGO_EXPORT"
) -> str:
    """A C file of candidates.

    Args:
        functions: By number.
        intrinsics: Table that they were generated with.
        linkage: Macro in front of the entries.
    """
    named = [function.renamed(f"candidate_{k}") for k, function in functions.items()]
    includes = "".join(f"#include {header}\n" for header in intrinsics.headers)
    helpers = helper_text(sorted({h for f in named for h in f.helpers}), intrinsics)
    body = "\n".join(f"static AGO_NOINLINE {_definition(f)}\n{_entry(f, linkage)}" for f in named)
    return f'#include "ago_runtime.h"\n{includes}\n{helpers}{body}'


def _definition(function: Function) -> str:
    """The function without its comment."""
    return function.text[function.text.index(function.signature) :]


def _entry(function: Function, linkage: str) -> str:
    """A function that takes all arguments as one array of pointers."""
    arguments = ", ".join(f"a[{k}]" for k in range(len(function.parameters)))
    head = f"void run_{function.name}(void *const *a)"
    return f"{linkage} {head};\n{linkage} {head} {{ {function.name}({arguments}); }}\n"
