"""Switches single conditions off: what a test suite is worth shows when the code is wrong.

Read `Switch` first. It replaces the code of every function of some modules by one in which
`raise ERROR` asks first whether the error's code is switched off, and goes on if it is.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import types
from collections.abc import Iterator
from contextlib import contextmanager

from ago.ir.identity import forget

_RAISE = "_raise_unless_off"


class Switch:
    """Errors of one code at a time do not rise in the modules of a package.

    Args:
        packages: Names of packages or modules.

    Attributes:
        off: The code that is switched off, or None.
    """

    def __init__(self, *packages: str) -> None:
        self.off: str | None = None
        self._functions = [f for name in packages for m in _modules(name) for f in self._of(m)]

    @contextmanager
    def installed(self) -> Iterator[Switch]:
        """With the switch in the code of all functions."""
        before = [(function, function.__code__) for function, _ in self._functions]
        for function, code in self._functions:
            function.__code__ = code
            function.__globals__[_RAISE] = self._raise
        try:
            yield self
        finally:
            for function, code in before:
                function.__code__ = code
                function.__globals__.pop(_RAISE, None)

    @contextmanager
    def without(self, code: str) -> Iterator[None]:
        """With one code switched off; what was made meanwhile is forgotten."""
        self.off = code
        try:
            yield
        finally:
            self.off = None
            forget()

    def _raise(self, error: BaseException) -> None:
        code = getattr(error, "code", None)
        if code is None or code != self.off:
            raise error

    def _of(self, module: types.ModuleType) -> Iterator[tuple[types.FunctionType, types.CodeType]]:
        """Each function that is written in a module, and its code with the switch."""
        tree = _Guard().visit(ast.parse(inspect.getsource(module)))
        scope = compile(ast.fix_missing_locations(tree), module.__file__ or "", "exec")
        codes = {code.co_qualname: code for code in _codes(scope)}
        for function in _functions(module):
            code = codes.get(function.__code__.co_qualname)
            if code is not None and code.co_freevars == function.__code__.co_freevars:
                yield function, code


class _Guard(ast.NodeTransformer):
    """Turns `raise ERROR` into a call."""

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if node.exc is None:
            return node
        call = ast.Call(ast.Name(_RAISE, ast.Load()), [node.exc], [])
        return ast.copy_location(ast.Expr(call), node)


def _modules(name: str) -> Iterator[types.ModuleType]:
    module = importlib.import_module(name)
    yield module
    for _, inner, _ in pkgutil.iter_modules(getattr(module, "__path__", ())):
        yield importlib.import_module(f"{name}.{inner}")


def _functions(module: types.ModuleType) -> Iterator[types.FunctionType]:
    for value in vars(module).values():
        members = vars(value).values() if inspect.isclass(value) else (value,)
        for member in members:
            function = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if isinstance(function, types.FunctionType) and function.__module__ == module.__name__:
                yield function


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)
