"""The value handed from the code generator to the runtime."""

import dataclasses

import pytest

from ago.errors import CodegenError, ToolchainError
from ago.runtime.artifact import SHIPPED_LIBRARY_FILES, TensorInfo
from ago.runtime.sources import csrc_path
from ago.target import TARGETS
from tests.support.small_model import small_artifact

ARTIFACT = small_artifact(TARGETS["portable"])


def test_tensor_bytes():
    assert TensorInfo("x", (2, 3)).bytes == 24
    assert TensorInfo("scalar", ()).bytes == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "7up"}, "not a C identifier"),
        ({"name": "other"}, r"lacks its header other\.h"),
        ({"sources": {"small.h": ""}}, "has no C source"),
    ],
)
def test_malformed(changes, message):
    with pytest.raises(CodegenError, match=message):
        dataclasses.replace(ARTIFACT, **changes)


def test_digest_depends_on_code_and_target_but_not_on_weights():
    digest = ARTIFACT.code_digest()
    assert dataclasses.replace(ARTIFACT, weights=b"").code_digest() == digest
    other_code = {**ARTIFACT.sources, "small.c": "int x;"}
    assert dataclasses.replace(ARTIFACT, sources=other_code).code_digest() != digest
    assert dataclasses.replace(ARTIFACT, target=TARGETS["cortex-a76"]).code_digest() != digest


def test_digest_tells_where_one_file_ends_and_the_next_begins():
    header = {"small.h": ""}
    first = dataclasses.replace(ARTIFACT, sources={**header, "a.c": "xb.c", "b.c": ""})
    second = dataclasses.replace(ARTIFACT, sources={**header, "a.c": "", "b.c": "xb.c"})
    assert first.code_digest() != second.code_digest()


def test_write_is_complete(tmp_path):
    to_compile = ARTIFACT.write(tmp_path / "out")
    assert [path.name for path in to_compile] == [
        *("small.c", "small_affine.c", "ago_runtime.c", "ago_cpu.c", "ago_mem.c"),
    ]
    written = {path.name: path for path in (tmp_path / "out").iterdir()}
    assert set(written) == {*ARTIFACT.sources, *SHIPPED_LIBRARY_FILES, "small.weights"}
    assert written["small.weights"].read_bytes() == ARTIFACT.weights_image
    assert written["small.c"].read_text() == ARTIFACT.sources["small.c"]


def test_print():
    assert str(ARTIFACT) == (
        "Artifact small for portable: (x: f32[1, 7]) -> (y: f32[1, 5]), 2 steps, 2 C files, "
        "320 B weights, 64 B workspace"
    )


def test_a_missing_shipped_file_is_a_clear_error():
    with pytest.raises(ToolchainError, match=r"nothing\.c is not in .*reinstall"):
        csrc_path("nothing.c")
