"""Kernels as Python runs them, beside the compiled ones of the same process."""

from __future__ import annotations

from types import FunctionType, ModuleType, SimpleNamespace


def in_python(module: ModuleType) -> SimpleNamespace:
    """Return a copy of a module of kernels in which those of its own are not compiled.

    The kernels of the copy call one another. Module and kernels stay as they are: a kernel that is
    exchanged in its module is missed by those that numba has not compiled yet, so that what a test
    finds would depend on the tests before. Kernels from other modules stay compiled; without numba
    every function of the copy is the module's own.
    """
    copy = dict(vars(module))
    for name, value in vars(module).items():
        plain = getattr(value, "py_func", None)
        if plain is not None and plain.__module__ == module.__name__:
            copy[name] = FunctionType(plain.__code__, copy, name, plain.__defaults__)
    return SimpleNamespace(**copy)
