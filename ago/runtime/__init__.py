"""Everything after code generation: compile, cache, load, run, emulate.

Read `ago.runtime.artifact.Artifact` first: it is what the code generator hands over.
"""
