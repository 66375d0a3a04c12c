"""The Java class and the C file of docs/deploy.md: compiled, and run where there is a JDK."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import ago
from tests.device.test_cross_build import write_model
from tests.device.test_deploy_page import SECTIONS, blocks
from tests.support.exported import C_FLAGS, CLANG, GCC, compiler, run

STUB = Path(__file__).resolve().parents[1] / "support" / "jni"
SECTION = SECTIONS["An Android application"]

MAIN = """\
import com.example.Model;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

public final class Main {
    static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    public static void main(String[] arguments) throws Exception {
        byte[] file = Files.readAllBytes(Path.of("model.weights"));
        ByteBuffer weights = direct(file.length), input = direct(INPUT), output = direct(OUTPUT);
        weights.put(file);
        for (int i = 0; i < INPUT / 4; ++i) input.putFloat(4 * i, i % 7 - 3);
        System.out.println(Model.errorText(Model.run(input, output)));
        System.out.println(Model.init(direct(8)));
        System.out.println(Model.init(weights));
        System.out.println(Model.run(direct(4), output));
        System.out.println(Model.run(input, output));
        for (int i = 0; i < OUTPUT / 4; ++i) System.out.println(output.getFloat(4 * i));
    }
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The exported model, and the C of the page beside it."""
    net = ago.optimize(write_model(tmp_path / "model.onnx"))
    assert net.artifact.name == "model"
    net.export(tmp_path / "model")
    (tmp_path / "model" / "jni.c").write_text(*blocks(SECTION, "c"))
    return tmp_path / "model"


def test_the_c_file_is_c11_without_warnings(folder: Path) -> None:
    run([compiler(*GCC, *CLANG), *C_FLAGS, f"-I{STUB}", "-I.", "-fsyntax-only", "jni.c"], folder)


def jdk() -> Path:
    """Where a JDK has its headers; skips the test where there is none."""
    javac = shutil.which("javac")
    if not (javac and shutil.which("java")):
        pytest.skip("needs a JDK")
    include = Path(javac).resolve().parents[1] / "include"
    if not (include / "jni.h").exists() or not (include / "linux").exists():
        pytest.skip("the JDK has no headers for Linux here")
    return include


def test_java_runs_the_model(folder: Path) -> None:
    include = jdk()
    cc = compiler(*GCC, *CLANG)
    run([compiler("make"), "-s", f"CC={cc}", "CFLAGS=-O1", "libmodel.so"], folder)
    headers = [f"-I{include}", f"-I{include / 'linux'}", "-I."]
    library = ["-shared", "-fPIC", "jni.c", "-L.", "-lmodel", "-Wl,-rpath,$ORIGIN"]
    run([cc, *C_FLAGS, *headers, *library, "-o", "libmodel_jni.so"], folder)

    x = (np.arange(3 * 7 * 9) % 7 - 3).astype(np.float32).reshape(1, 3, 7, 9)
    expected = ago.optimize(folder.parent / "model.onnx")(x)
    main = MAIN.replace("INPUT", str(x.nbytes)).replace("OUTPUT", str(expected.nbytes))
    (folder / "Main.java").write_text(main)
    (folder / "Model.java").write_text(*blocks(SECTION, "java"))
    run(["javac", "-d", "classes", "Main.java", "Model.java"], folder)
    java = ["java", "-XX:TieredStopAtLevel=1", "-Djava.library.path=.", "-cp", "classes", "Main"]
    lines = run(java, folder).splitlines()
    assert "init" in lines[0]
    assert lines[1:5] == ["1", "0", "1", "0"]
    np.testing.assert_allclose(np.float32(lines[5:]), expected.ravel(), rtol=1e-6)
