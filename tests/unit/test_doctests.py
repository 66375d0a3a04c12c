"""The examples in docstrings of `ago.ir`, `ago.schedule` and `ago.lab` do what they say."""

import doctest
import importlib
import pkgutil

import pytest

import ago.ir
import ago.schedule
from ago.schedule.trace import PRIMITIVES

MODULES = [
    "ago.lab",
    *(
        module.name
        for package in (ago.ir, ago.schedule)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


@pytest.mark.parametrize("name", PRIMITIVES)
def test_every_primitive_has_an_example(name: str) -> None:
    (example,) = doctest.DocTestFinder(recurse=False).find(PRIMITIVES[name])
    assert example.examples
