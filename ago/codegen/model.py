"""From the functions of a model's subgraphs to its C files.

Read `Step` and `emit_model` first. Functions that differ in names and comments only are printed
once. Kernels are spread over files of similar size, so that compilers run in parallel; `NAME.c`
holds the two entry points described in `csrc/ago_runtime.h`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ago.codegen.ctext import HELPERS, identifier, used_helpers
from ago.codegen.element_helpers import ELEMENT_HELPERS
from ago.codegen.emit import Function
from ago.codegen.intrinsics import Intrinsics

FILE_BYTES = 150_000
"""Size from which a kernel file is split, characters."""

_PARALLEL_BYTES = 30_000
_PARALLEL_FILES = 4


@dataclass(frozen=True, slots=True)
class InputSlot:
    """The model's input number `index`."""

    index: int


@dataclass(frozen=True, slots=True)
class OutputSlot:
    """The model's output number `index`."""

    index: int


@dataclass(frozen=True, slots=True)
class WorkspaceSlot:
    """The workspace from byte `offset` on."""

    offset: int


@dataclass(frozen=True, slots=True)
class WeightsSlot:
    """The weights from byte `offset` on."""

    offset: int


Slot = InputSlot | OutputSlot | WorkspaceSlot | WeightsSlot


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a function.

    Attributes:
        function: What is called.
        args: Where each of its parameters is, in order.
    """

    function: Function
    args: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class ModelInterface:
    """What the header of a model says.

    Attributes:
        name: C identifier that prefixes every symbol.
        inputs: A description of each input for comments, such as `"image f32[1, 3, 224, 224]"`.
        outputs: Likewise for the outputs.
        weights_bytes: Size of the weights, bytes.
        workspace_bytes: Size of the scratch memory, bytes.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    weights_bytes: int
    workspace_bytes: int


def emit_model(
    interface: ModelInterface, steps: Sequence[Step], intrinsics: Intrinsics
) -> dict[str, str]:
    """Generate the C files of a model.

    Args:
        interface: Its name, inputs, outputs and sizes.
        steps: Calls in order of execution.
        intrinsics: Table that the functions were generated with.

    Returns:
        Text by file name: `NAME.h`, `NAME.c`, `NAME_kernels.h`, `NAME_kernels_K.c`.
    """
    name = interface.name
    kernels, names = _share(name, steps)
    prototypes = "".join(f"AGO_HIDDEN {kernel.signature};\n" for kernel in kernels)
    files = {
        f"{name}.h": _header(interface, len(steps)),
        f"{name}_kernels.h": _guarded(
            f"{name}_kernels", f'#include "ago_runtime.h"\n\n{prototypes}'
        ),
        f"{name}.c": _entry(interface, steps, names),
    }
    for number, group in enumerate(_split(kernels)):
        files[f"{name}_kernels_{number}.c"] = _kernel_file(name, group, intrinsics)
    return files


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


def _kernel_file(model: str, kernels: Sequence[Function], intrinsics: Intrinsics) -> str:
    files = sorted({f'"{kernel.file}.h"' for kernel in kernels if kernel.file})
    includes = "".join(f"#include {header}\n" for header in (*files, *intrinsics.headers))
    helpers = helper_text(sorted({h for kernel in kernels for h in kernel.helpers}), intrinsics)
    body = "\n".join(kernel.text for kernel in kernels)
    return f'/* Generated by AGO. */\n#include "{model}_kernels.h"\n{includes}\n{helpers}{body}'


def _guarded(name: str, text: str) -> str:
    macro = f"{name.upper()}_H"
    return f"/* Generated by AGO. */\n#ifndef {macro}\n#define {macro}\n\n{text}\n#endif\n"


def _header(interface: ModelInterface, steps: int) -> str:
    name, prefix = interface.name, interface.name.upper()
    arrays = [f"inputs[{k}]: {text}" for k, text in enumerate(interface.inputs)]
    arrays += [f"outputs[{k}]: {text}" for k, text in enumerate(interface.outputs)]
    lines = "\n".join(f" *   {line}".replace("*/", "* /") for line in arrays)
    arguments = "const void *const *inputs, void *const *outputs, const void *weights"
    pad = " " * len(f"AGO_EXPORT int32_t {name}_run(")
    return _guarded(
        name,
        f"""\
#include "ago_runtime.h"

#ifdef __cplusplus
extern "C" {{
#endif

/*
 * Dense row-major arrays:
{lines}
 */

/* Size of the scratch memory that a run needs. */
#define {prefix}_WORKSPACE_BYTES {interface.workspace_bytes}u
/* Size of the weights, the file {name}.weights. */
#define {prefix}_WEIGHTS_BYTES {interface.weights_bytes}u
/* Number of steps of one run. */
#define {prefix}_STEPS {steps}
/* What the weights and the scratch memory must be aligned to, bytes. */
#define {prefix}_ALIGNMENT 64

/* Computes the outputs from the inputs. Returns AGO_OK or an error code of ago_runtime.h. */
AGO_EXPORT int32_t {name}_run({arguments},
{pad}void *workspace);

/* Runs one step alone. Steps 0 to {prefix}_STEPS - 1 in order, on the same arguments, are a run. */
AGO_EXPORT int32_t {name}_step(int32_t index, {arguments},
{pad} void *workspace);

#ifdef __cplusplus
}}
#endif
""",
    )


def _entry(interface: ModelInterface, steps: Sequence[Step], names: Sequence[str]) -> str:
    name, prefix = interface.name, interface.name.upper()
    cases = "".join(
        f"    case {number}:\n        {called}({', '.join(map(_argument, step.args))});\n"
        "        return AGO_OK;\n"
        for number, (step, called) in enumerate(zip(steps, names, strict=True))
    )
    arguments = "const void *const *inputs, void *const *outputs, const void *weights"
    return f"""\
/* Generated by AGO. */
#include "{name}.h"
#include "{name}_kernels.h"

static int32_t check({arguments},
                     const void *workspace) {{
    return ago_check(inputs, {len(interface.inputs)}, outputs, {len(interface.outputs)}, weights, \
{prefix}_WEIGHTS_BYTES, workspace,
                     {prefix}_WORKSPACE_BYTES);
}}

static int32_t step(int32_t index, {arguments},
                    void *workspace) {{
    (void)inputs, (void)outputs, (void)weights, (void)workspace;
    switch (index) {{
{cases}    default:
        return AGO_ERROR_STEP;
    }}
}}

int32_t {name}_step(int32_t index, {arguments},
                    void *workspace) {{
    const int32_t code = check(inputs, outputs, weights, workspace);
    return code == AGO_OK ? step(index, inputs, outputs, weights, workspace) : code;
}}

int32_t {name}_run({arguments},
                   void *workspace) {{
    int32_t code = check(inputs, outputs, weights, workspace);
    for (int32_t index = 0; code == AGO_OK && index < {prefix}_STEPS; ++index) {{
        code = step(index, inputs, outputs, weights, workspace);
    }}
    return code;
}}
"""


def _argument(slot: Slot) -> str:
    match slot:
        case InputSlot(index):
            return f"inputs[{index}]"
        case OutputSlot(index):
            return f"outputs[{index}]"
        case WorkspaceSlot(offset):
            return f"(void *)((char *)workspace + {offset})"
        case WeightsSlot(offset):
            return f"(const void *)((const char *)weights + {offset})"
