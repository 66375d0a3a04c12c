"""The intermediate representations: graph, stages and loop nest.

Read `graph` for whole models, and `index`, `value`, `nest`, `program`, in this order, for loop
nests. `printer` turns a program into Python that `interpreter` runs; `verify` states the laws.
"""
