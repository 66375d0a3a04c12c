"""What the demo picks and counts."""

import numpy as np
import pytest

import ago
from ago.options import Options
from ago.partition import relay_style
from ago.pipeline import Kernel, compile_graph
from ago.target import resolve_target
from tools.demo import innermost_loop, multiply_accumulates, pick_kernel

_CODE = """\
void f(void) {
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
            once(i, j);
        }
        for (int k = 0; k < 4; ++k) {
            first(i, k);
            second(i, k);
        }
    }
}
"""


@pytest.fixture(scope="module")
def kernels() -> tuple[Kernel, ...]:
    b = ago.GraphBuilder("two")
    x = b.input("x", (1, 3, 6, 6))
    y = b.relu(b.conv(x, np.ones((5, 3, 3, 3), np.float32), name="conv"))
    graph = b.build(b.flatten(b.global_average_pool(y, name="pool"), name="flat"))
    return compile_graph(graph, Options(resolve_target("portable")), relay_style).kernels


def test_innermost_loop_is_the_longest_of_the_deepest() -> None:
    assert innermost_loop(_CODE) == (
        "for (int k = 0; k < 4; ++k) {\n    first(i, k);\n    second(i, k);\n}"
    )


def test_code_without_loops_has_its_first_line() -> None:
    assert innermost_loop("void f(void) {\n}\n") == "void f(void) {"


def test_sums_without_products_are_no_multiply_accumulates(kernels: tuple[Kernel, ...]) -> None:
    assert multiply_accumulates(kernels) == 5 * 4 * 4 * 3 * 3 * 3


def test_the_kernel_shown_multiplies_and_has_an_epilogue(kernels: tuple[Kernel, ...]) -> None:
    assert [node.op for node in pick_kernel(kernels).subgraph.nodes] == ["Conv", "Clip"]
