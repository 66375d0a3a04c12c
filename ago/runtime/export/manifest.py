"""What is in the folder of an exported model, for programs: `manifest.json`.

Read `manifest_text` first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from ago.runtime.artifact import Artifact, TensorInfo
from ago.version import __version__

MANIFEST = "manifest.json"
"""Its name in the folder."""

FORMAT = 1
"""Version of the manifest's form."""


def manifest_text(artifact: Artifact, form: str, files: Mapping[str, bytes]) -> str:
    """The manifest as JSON.

    Args:
        artifact: The compiled model.
        form: How the weights are kept.
        files: Content of every other file, by name.
    """
    image = artifact.weights_image
    target = artifact.target
    manifest = {
        "format": FORMAT,
        "name": artifact.name,
        "ago": __version__,
        "target": {"name": target.name, "arch": target.arch, "isa": target.isa, "cpu": target.cpu},
        "fingerprint": f"{artifact.fingerprint:#018x}",
        "parallel": artifact.parallel,
        "workspace_bytes": artifact.workspace_bytes,
        "weights": {"form": form, "bytes": len(image), "sha256": _digest(image)},
        "inputs": [_tensor(info) for info in artifact.inputs],
        "outputs": [_tensor(info) for info in artifact.outputs],
        "steps": [
            {"operators": label, "function": function, "trace": json.loads(trace)}
            for label, function, trace in zip(
                artifact.steps, artifact.functions, artifact.traces, strict=False
            )  # code written by hand has neither functions nor traces to tell of
        ],
        "files": {name: _digest(files[name]) for name in sorted(files)},
    }
    return json.dumps(manifest, indent=1) + "\n"


def earlier_files(directory: Path) -> frozenset[str]:
    """The files that an earlier export wrote to a folder and nobody changed since.

    Args:
        directory: Any folder.

    Returns:
        A manifest of AGO, and the names in the folder whose content is what it says; none where the
        folder has no manifest, or somebody else's.
    """
    listed = _listed_files(directory / MANIFEST)
    if listed is None:
        return frozenset()
    unchanged = (
        name
        for name, digest in listed.items()
        if isinstance(digest, str) and Path(name).name == name and _holds(directory / name, digest)
    )
    return frozenset({MANIFEST, *unchanged})


def _listed_files(path: Path) -> Mapping[str, object] | None:
    """What a manifest of AGO lists; None for any other file."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        return None
    own = all(isinstance(manifest.get(key), str) for key in ("name", "ago", "fingerprint"))
    files = manifest.get("files")
    return files if own and isinstance(files, dict) else None


def _holds(path: Path, digest: str) -> bool:
    """Whether a path is a file with this content."""
    try:
        return path.is_file() and _digest(path.read_bytes()) == digest
    except (OSError, ValueError):  # what cannot be read, or be a path at all
        return False


def _tensor(info: TensorInfo) -> dict[str, object]:
    shape = list(info.shape)
    return {"name": info.name, "dtype": info.dtype, "shape": shape, "bytes": info.bytes}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
