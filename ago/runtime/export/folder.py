"""Writes the folder of an exported model.

Read `export_artifact` first. Everything in the folder is text but `NAME.weights`. Invariant: a file
that AGO did not write, or that somebody changed since, is never touched unless that is asked for.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ago.errors import InputError
from ago.runtime.artifact import Artifact
from ago.runtime.export.build_files import BuildPlan, cmake_text, makefile_text
from ago.runtime.export.example import example_text
from ago.runtime.export.manifest import MANIFEST, earlier_files, manifest_text
from ago.runtime.export.readme import readme_text
from ago.runtime.sources import csrc_path
from ago.runtime.weights import array_text, incbin_text

WeightsForm = Literal["file", "incbin", "array"]
"""How weights reach the program: from the file `NAME.weights`, by the assembler, or as C."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A folder that was written.

    Attributes:
        directory: The folder.
        files: Names in it, sorted.
        nbytes: Size of all files.
    """

    directory: Path
    files: tuple[str, ...]
    nbytes: int

    def __str__(self) -> str:
        return f"{self.directory}: {len(self.files)} files, {self.nbytes} bytes"


def export_artifact(
    artifact: Artifact,
    directory: Path,
    *,
    weights: WeightsForm = "file",
    reports: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> Exported:
    """Write a model as C that needs nothing else to be built and used.

    Args:
        artifact: The compiled model.
        directory: Created if missing. Files of an earlier export, by its manifest, are replaced, or
            removed where they are no part of this one; those that would not change keep their time,
            so that make compiles no more than it has to.
        weights: `"file"` leaves them in `NAME.weights`, for the program to map or read; `"incbin"`
            has the assembler include that file, `"array"` makes them a C array.
        reports: Further text files of the folder, by name.
        overwrite: Replace files of these names whoever wrote them.

    Returns:
        What was written.

    Raises:
        InputError: There is no such form of weights, the folder cannot be written, or it holds a
            file of these names that is not AGO's, or was changed since; then nothing is written.
    """
    if weights not in get_args(WeightsForm):
        raise InputError(f"weights={weights!r}: expected one of {', '.join(get_args(WeightsForm))}")
    image = artifact.weights_image
    form: WeightsForm = weights if image else "file"
    texts = _texts(artifact, form, image)
    contents = {name: text.encode() for name, text in {**texts, **(reports or {})}.items()}
    if image and form != "array":
        contents[f"{artifact.name}.weights"] = image
    contents[MANIFEST] = manifest_text(artifact, form, contents).encode()
    try:
        own = earlier_files(directory)
        if not overwrite:
            _refuse_others(directory, contents, own)
        directory.mkdir(parents=True, exist_ok=True)
        for name in own - contents.keys():
            (directory / name).unlink(missing_ok=True)
        for name, content in contents.items():
            _write(directory / name, content)
    except OSError as error:
        raise InputError(
            f"{error.filename or directory} cannot be written: {error.strerror}"
        ) from error
    size = sum(map(len, contents.values()))
    return Exported(directory, tuple(sorted(contents)), size)


def _refuse_others(directory: Path, contents: Mapping[str, bytes], own: Container[str]) -> None:
    """Refuse a folder with files to be written that somebody else wrote, or changed since."""
    others = [
        name
        for name, content in contents.items()
        if name not in own and (directory / name).exists() and not _holds(directory / name, content)
    ]
    if others:
        raise InputError(
            f"{directory} has files that AGO did not write, or that were changed since: "
            f"{', '.join(sorted(others))}; choose another folder, or --overwrite (overwrite=True) "
            "replaces them"
        )


def _write(path: Path, content: bytes) -> None:
    if not _holds(path, content):
        path.write_bytes(content)


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


def _texts(artifact: Artifact, form: WeightsForm, image: bytes) -> Mapping[str, str]:
    """The text files but the manifest, by name."""
    name = artifact.name
    texts = {**artifact.sources, **artifact.shipped()}
    if artifact.parallel:
        for file in ("ago_pool.h", "ago_pool.c"):
            texts[file] = csrc_path(file).read_text("utf-8")
    linked = {"incbin": f"{name}_weights.S", "array": f"{name}_weights.c"}.get(form, "")
    if form == "incbin":
        texts[linked] = incbin_text(name, f"{name}.weights")
    if form == "array":
        texts[linked] = array_text(name, image)
    plan = BuildPlan.of(artifact, linked)
    texts["main.c"] = example_text(artifact, mapped=form == "file" and bool(image))
    texts["Makefile"] = makefile_text(plan)
    texts["CMakeLists.txt"] = cmake_text(plan)
    texts["README.md"] = readme_text(artifact, form)
    return texts
