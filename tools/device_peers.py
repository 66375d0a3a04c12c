#!/usr/bin/env python3
"""Runs on a device: times a benchmark program of AGO and the engines installed there, in turns.

    device_peers.py --program BENCH --model MODEL.onnx --rounds 10 --runs 5

It stands alone: `tools/device_bench.py` copies it to the device. Engines take turns, the order
rotating, so that a clock that drifts hits all alike; one thread each. The last line printed is one
JSON object: milliseconds of the fastest run in each round, by engine, and what is missing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import Any

Run = Callable[[], float]
"""One turn: milliseconds of its fastest run."""


def start_ago(program: str, runs: int) -> Run:
    """The benchmark program, which times itself."""
    command = [f"./{program}", "--runs", str(runs), "--warmup", "2"]

    def turn() -> float:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return float(json.loads(done.stdout.splitlines()[-1])["min_ms"])

    return turn


def start_onnxruntime(model: str, runs: int) -> Run:
    """ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = {i.name: _array(i.shape, i.type) for i in session.get_inputs()}
    return _turns(lambda: session.run(None, feeds), runs)


def start_openvino(model: str, runs: int) -> Run:
    """OpenVINO, in float32."""
    import openvino

    settings = {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
    }
    compiled = openvino.Core().compile_model(model, "CPU", settings)
    request = compiled.create_infer_request()
    feeds = {port.any_name: _array(port.shape, str(port.element_type)) for port in compiled.inputs}
    return _turns(lambda: request.infer(feeds), runs)


PEERS: Mapping[str, Callable[[str, int], Run]] = {
    "ONNX Runtime": start_onnxruntime,
    "OpenVINO": start_openvino,
}
"""How to start each engine on an ONNX file."""


def _array(shape: Any, kind: str) -> Any:  # noqa: ANN401
    import numpy as np

    sizes = [int(size) for size in shape]
    if "int" in kind or "i64" in kind:
        return np.zeros(sizes, np.int64)
    return np.random.default_rng(0).standard_normal(sizes, np.float32)


def _turns(run: Callable[[], object], runs: int) -> Run:
    def turn() -> float:
        run()
        run()
        best = float("inf")
        for _ in range(runs):
            begin = time.perf_counter()
            run()
            best = min(best, time.perf_counter() - begin)
        return 1e3 * best

    return turn


def compare(program: str, model: str, rounds: int, runs: int) -> dict[str, object]:
    """Time all engines that are there.

    Args:
        program: AGO's benchmark program, a file name in the current directory.
        model: An ONNX file; empty for AGO alone.
        rounds: Turns of each engine.
        runs: Timed runs in a turn.
    """
    engines = {"AGO": start_ago(program, runs)}
    missing = {}
    for name, start in PEERS.items() if model else ():
        try:
            engines[name] = start(model, runs)
        except Exception as error:  # an engine may fail in any way; the others go on
            missing[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    times: dict[str, list[float]] = {name: [] for name in engines}
    order = list(engines)
    for _ in range(rounds):
        order = [*order[1:], order[0]]
        for name in order:
            times[name].append(engines[name]())
    return {"milliseconds": times, "missing": missing}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--model", default="")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    print(json.dumps(compare(given.program, given.model, given.rounds, given.runs)))


if __name__ == "__main__":
    main()
