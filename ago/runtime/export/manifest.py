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
    """The files that an earlier export wrote to a folder, by its manifest; none where it has none.

    Args:
        directory: Any folder.
    """
    try:
        listed = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, TypeError, KeyError):
        return frozenset()
    return frozenset(name for name in listed if Path(name).name == name)


def _tensor(info: TensorInfo) -> dict[str, object]:
    shape = list(info.shape)
    return {"name": info.name, "dtype": info.dtype, "shape": shape, "bytes": info.bytes}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
