"""Threads that share an inference: the same bits for any number, and the pool in C by itself."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ago
from ago.errors import InputError
from ago.models import tiny_mobilenet
from ago.runtime.pool import ThreadPool, big_cpus, chosen_cpus
from ago.runtime.sources import csrc_path
from ago.runtime.toolchain import find_toolchain
from tests.support.exported import strips_graph

COUNTS = (1, 2, 3, 4, 7)

PROGRAM = r"""
#include "ago_pool.h"
static int hits[16];
static void task(void *data, int32_t chunk) { (void)data, ++hits[chunk]; }
int main(void) {
    const int32_t counts[] = {1, 2, 3, 4, 7}, cpus[] = {0, -1, 0, 12345, -1, 0};
    for (int t = 0; t < 5; ++t) {
        ago_pool *pool = ago_pool_create(counts[t], t % 2 ? cpus : NULL);
        if (pool == NULL) return 2;
        if (pool->thread_count(pool->self) != counts[t]) return 3;
        for (int round = 0; round < 500; ++round) {
            const int32_t count = round % 14;
            for (int i = 0; i < 16; ++i) hits[i] = 0;
            pool->run(pool->self, task, NULL, count);
            for (int i = 0; i < 16; ++i) if (hits[i] != (i < count)) return 1;
        }
        ago_pool_destroy(pool);
    }
    ago_pool_destroy(NULL);
    return 0;
}
"""


@pytest.mark.parametrize("flags", [[], ["-fsanitize=thread"], ["-fsanitize=address,undefined"]])
def test_every_index_once_on_any_number_of_threads(tmp_path: Path, flags: list[str]) -> None:
    source, program = tmp_path / "pool.c", tmp_path / "pool"
    source.write_text(PROGRAM)
    pool = csrc_path("ago_pool.c")
    command = [*find_toolchain().command, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", *flags]
    files = [f"-I{pool.parent}", str(source), str(pool), "-pthread", "-o", str(program)]
    built = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    if built.returncode != 0 and flags:
        pytest.skip("this compiler has no such sanitizer")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    if "FATAL: ThreadSanitizer: unexpected memory mapping" in done.stderr:
        pytest.skip("this kernel lays memory out as the sanitizer cannot use it")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((1, 3, 64, 64), np.float32)


@pytest.fixture(scope="module")
def expected(image: np.ndarray) -> np.ndarray:
    return ago.optimize(tiny_mobilenet(size=64))(image)


@pytest.mark.parametrize("threads", COUNTS)
def test_results_are_the_same_bit_for_bit(threads, image, expected) -> None:
    net = ago.optimize(tiny_mobilenet(size=64), threads=threads)
    for _ in range(3):
        np.testing.assert_array_equal(net(image), expected)
    assert ("PARALLEL 1\n" in net.source) == (threads > 1)


@pytest.mark.parametrize("threads", [2, 4, 7, 60])
def test_strips_change_no_bit(threads: int) -> None:
    """Of 47 rows: also with more threads than there are rows."""
    image = np.random.default_rng(1).standard_normal((1, 3, 97, 97), np.float32)
    serial, shared = (ago.optimize(strips_graph(), threads=n) for n in (1, threads))
    expected = serial.run({"image": image})
    for name, array in shared.run({"image": image}).items():
        np.testing.assert_array_equal(array, expected[name])
    assert "PARALLEL 1\n" in shared.source


def test_a_shared_model_is_verified_step_by_step() -> None:
    assert ago.optimize(tiny_mobilenet(size=64), threads=3).verify().max_error < 1e-5


def test_callers_take_turns_on_the_pool(image, expected) -> None:
    net = ago.optimize(tiny_mobilenet(size=64), threads=2)
    results: list[np.ndarray] = []
    callers = [threading.Thread(target=lambda: results.append(net(image))) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert len(results) == 4
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_a_pool_ends_once() -> None:
    pool = ThreadPool(3, "none")
    pool.close()
    pool.close()


def test_affinity() -> None:
    assert chosen_cpus(4, "none") == [-1, -1, -1]
    assert chosen_cpus(4, [0]) == [0, 0, 0]
    assert chosen_cpus(1, "big") == []
    for wrong in ([], [-1], [10**6], ["0"], [0.5], 3, "fast"):
        with pytest.raises(InputError, match="affinity="):
            chosen_cpus(2, wrong)


BIG = r"""
#include "ago_pool.h"
#include <stdio.h>
int main(int argc, char **argv) {
    int32_t cpus[4];
    for (int k = 1; k < argc; ++k) {
        ago_pool_big_cpus(argv[k], 5, cpus);
        printf("%d %d %d %d\n", (int)cpus[0], (int)cpus[1], (int)cpus[2], (int)cpus[3]);
    }
    return 0;
}
"""


def test_the_pool_in_c_chooses_the_same_cpus(tmp_path: Path) -> None:
    kinds = {"three": [446, 871, 1024, 1024], "down": [1024, 446], "alike": [512, 512], "none": []}
    for name, capacities in kinds.items():
        (tmp_path / name).mkdir()
        for cpu, capacity in enumerate(capacities):
            folder = tmp_path / name / f"cpu{cpu}"
            folder.mkdir()
            (folder / "cpu_capacity").write_text(f"{capacity}\n")
    source, program = tmp_path / "big.c", tmp_path / "big"
    source.write_text(BIG)
    pool = csrc_path("ago_pool.c")
    command = [*find_toolchain().command, "-std=c11", "-Wall", "-Wextra", "-Werror"]
    files = [f"-I{pool.parent}", str(source), str(pool), "-pthread", "-o", str(program)]
    subprocess.run([*command, *files], check=True)
    roots = [str(tmp_path / name) for name in kinds]
    done = subprocess.run([program, *roots], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["3 2 3 2", "0 0 0 0", "-1 -1 -1 -1", "-1 -1 -1 -1"]
    for root, line in zip(roots, done.stdout.splitlines(), strict=True):
        big = big_cpus(Path(root))
        expected = [big[k % len(big)] if big else -1 for k in range(1, 5)]
        assert line == " ".join(map(str, expected))


def test_big_cpus_are_those_of_the_highest_capacity(tmp_path: Path) -> None:
    assert big_cpus(tmp_path) == []
    for cpu, capacity in enumerate([446, 446, 1024, 1024]):
        (tmp_path / f"cpu{cpu}").mkdir()
        (tmp_path / f"cpu{cpu}/cpu_capacity").write_text(f"{capacity}\n")
    assert big_cpus(tmp_path) == [2, 3]
    for cpu in (0, 1):
        (tmp_path / f"cpu{cpu}/cpu_capacity").write_text("1024\n")
    assert big_cpus(tmp_path) == []


@pytest.mark.parametrize("threads", [0, -1, 1000])
def test_numbers_of_threads_are_checked(threads: int) -> None:
    with pytest.raises(InputError, match="threads="):
        ago.optimize(tiny_mobilenet(size=64), threads=threads)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"threads": True}, "threads=True"),
        ({"affinity": "fast"}, "affinity='fast'"),
        ({"seed": "x"}, "seed='x'"),
        ({"intensive_fusion": "no"}, "intensive_fusion='no'"),
    ],
)
def test_options_of_wrong_types_are_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ago.optimize(tiny_mobilenet(size=64), **option)
