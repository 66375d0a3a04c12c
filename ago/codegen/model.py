"""From the functions of a model's subgraphs to its C files.

Read `emit_model` first. Functions that differ in names and comments only are printed once. Kernels
are spread over files of similar size, so that compilers run in parallel; `NAME.c` holds the entry
points (`ago/codegen/entry.py`), `NAME.h` their description (`ago/codegen/header.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ago.codegen.ctext import HELPERS, identifier, used_helpers
from ago.codegen.element_helpers import ELEMENT_HELPERS
from ago.codegen.emit import Function
from ago.codegen.entry import Step, entry_text, has_parts
from ago.codegen.header import ModelInterface, guarded, header_text
from ago.codegen.intrinsics import Intrinsics

FILE_BYTES = 150_000
"""Size from which a kernel file is split, characters."""

_PARALLEL_BYTES = 30_000
_PARALLEL_FILES = 4


@dataclass(frozen=True, slots=True)
class ModelCode:
    """A model in C.

    Attributes:
        files: Text by file name: `NAME.h`, `NAME.c`, `NAME_kernels.h`, `NAME_kernels_K.c`.
        fingerprint: 64 bits of a digest of the code, which the weights for it carry as well.
        functions: C identifier of the function that each step calls.
    """

    files: Mapping[str, str]
    fingerprint: int
    functions: tuple[str, ...]


def emit_model(
    interface: ModelInterface, steps: Sequence[Step], intrinsics: Intrinsics
) -> ModelCode:
    """Generate the C files of a model.

    Args:
        interface: Its name, inputs, outputs and sizes.
        steps: Calls in order of execution.
        intrinsics: Table that the functions were generated with.

    Returns:
        The files, and what ties weights to them.
    """
    name = interface.name
    kernels, names = _share(name, steps)
    files = {
        f"{name}_kernels.h": _kernels_header(name, kernels),
        f"{name}.c": entry_text(interface, steps, names),
    }
    for number, group in enumerate(_split(kernels)):
        files[f"{name}_kernels_{number}.c"] = _kernel_file(name, number, group, intrinsics)
    fingerprint = _fingerprint(files)
    header = header_text(interface, len(steps), has_parts(steps), fingerprint)
    return ModelCode({f"{name}.h": header, **files}, fingerprint, tuple(names))


def _fingerprint(files: Mapping[str, str]) -> int:
    """64 bits of SHA-256; never 0, which marks contexts that are not in use."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{files[name]}\0".encode())
    return int.from_bytes(digest.digest()[:8], "little") or 1


def _kernels_header(name: str, kernels: Sequence[Function]) -> str:
    prototypes = "".join(f"AGO_HIDDEN {kernel.signature};\n" for kernel in kernels)
    text = f"""\
#include "ago_model.h"

#ifdef __cplusplus
#define restrict AGO_RESTRICT
#define _Bool bool
#endif

AGO_C_BEGIN

/* The instructions that the kernels were compiled for. */
extern AGO_HIDDEN const uint64_t {name}_cpu;

{prototypes}
AGO_C_END
"""
    return guarded(f"{name}_kernels", text)


def _share(model: str, steps: Sequence[Step]) -> tuple[list[Function], list[str]]:
    """Distinct functions under names of the model, and the name that each step calls."""
    by_key: dict[str, int] = {}
    kernels: list[Function] = []
    users: list[list[str]] = []
    called: list[str] = []
    taken: set[str] = set()
    for step in steps:
        function = step.function
        position = by_key.get(function.key)
        if position is None:
            name = _unused(f"{identifier(model)}_{function.name}", taken)
            position = len(kernels)
            by_key[function.key] = position
            kernels.append(function.renamed(name))
            users.append([])
        else:
            users[position].append(function.name)
        called.append(kernels[position].name)
    noted = [
        kernel.noted(f"also computes {', '.join(others)}") if others else kernel
        for kernel, others in zip(kernels, users, strict=True)
    ]
    return noted, called


def _unused(name: str, taken: set[str]) -> str:
    number = 1
    unique = name
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    taken.add(unique)
    return unique


def _split(kernels: Sequence[Function]) -> list[list[Function]]:
    """Groups of similar size, each in the order of the steps."""
    total = sum(len(kernel.text) for kernel in kernels)
    count = max(1, -(-total // FILE_BYTES), min(_PARALLEL_FILES, total // _PARALLEL_BYTES))
    count = min(count, max(1, len(kernels)))
    sizes = [0] * count
    groups: list[list[int]] = [[] for _ in range(count)]
    largest_first = sorted(range(len(kernels)), key=lambda k: (-len(kernels[k].text), k))
    for position in largest_first:
        lightest = sizes.index(min(sizes))
        sizes[lightest] += len(kernels[position].text)
        groups[lightest].append(position)
    return [[kernels[position] for position in sorted(group)] for group in groups]


def helper_text(names: Sequence[str], intrinsics: Intrinsics) -> str:
    """Definitions of helper functions, and before each of those that it calls itself.

    Args:
        names: What generated functions call.
        intrinsics: Table that may add helpers of its own.
    """
    known: Mapping[str, str] = {**HELPERS, **ELEMENT_HELPERS, **intrinsics.helpers}
    needed: dict[str, None] = {}

    def need(name: str) -> None:
        for other in used_helpers(known[name], known.keys() - {name}):
            need(other)
        needed.setdefault(name)

    for name in sorted(names):
        need(name)
    texts = dict.fromkeys(known[name] for name in needed)  # several may share a header
    return "".join(f"{text}\n" for text in texts)


def _kernel_file(
    model: str, number: int, kernels: Sequence[Function], intrinsics: Intrinsics
) -> str:
    files = sorted({f'"{kernel.file}.h"' for kernel in kernels if kernel.file})
    includes = "".join(f"#include {header}\n" for header in (*files, *intrinsics.headers))
    helpers = helper_text(sorted({h for kernel in kernels for h in kernel.helpers}), intrinsics)
    body = "\n".join(kernel.text for kernel in kernels)
    cpu = f"const uint64_t {model}_cpu = AGO_CPU_FEATURES;\n\n" if number == 0 else ""
    head = f'/* Generated by AGO. */\n#include "{model}_kernels.h"\n{includes}\n'
    return f"{head}{cpu}{helpers}{body}"
