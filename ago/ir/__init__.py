"""The intermediate representations: graph, stages and loop nest.

Read `graph` for whole models, and `index`, `value`, `nest`, `program`, in this order, for loop
nests. `define` makes one from index notation; `printer` turns a program into Python that
`interpreter` runs; `verify` states the laws.
"""

from ago.ir.define import define

__all__ = ["define"]
