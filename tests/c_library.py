"""Exported C, compiled and called."""

import ctypes
import subprocess

import pytest

from surrogates.export.c_export import c_compiler

COMPILER = c_compiler()
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2"]
needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="no C compiler (cc, gcc or clang) on the path"
)


def compile_c(folder, *options, **files):
    """A library of several exports, each under the prefix it was made for."""
    sources = [text.write(folder, prefix)[1] for prefix, text in files.items()]
    library = folder / "library.so"
    command = [COMPILER, *STRICT, *options, "-shared", "-fPIC", "-o", library, *sources, "-lm"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def pointer(values):
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
