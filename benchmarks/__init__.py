"""Side-by-side measurements: the machine, single kernels, whole models beside other engines.

`python -m benchmarks MODEL.onnx ...` writes the sections of `benchmarks/RESULTS.md`; each module
also runs alone and then prints its tables.
"""
