"""Parts of the compiled library that it does not export, and all of its builds."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from foundation.core import building
from foundation.core.library import SCRATCH, STRUCTS, address, open_library

_SOURCE = Path(__file__).parent / "surrogates" / "core" / "probe.c"
BUILDS = building.builds()[: open_library("plain").knee_level() + 1]


@cache
def probe():
    """The library of `probe.c`, for this processor."""
    folder = Path(tempfile.mkdtemp())
    made = folder / f"probe{building.SUFFIX}"
    command = [*(compiler := building.compiler()), *building.options(compiler, BUILDS[-1])]
    subprocess.run([*command, str(_SOURCE), "-o", str(made), "-lm"], check=True)
    library = ctypes.CDLL(str(made))
    library.probe_on_line.restype = ctypes.c_double
    return library


def _pointers(*arrays):
    return [ctypes.c_void_p(address(each)) for each in arrays]


def _of(regressor):
    packed = regressor.packed
    return ctypes.c_void_p(packed.address), ctypes.c_void_p(SCRATCH.of(packed.scratch))


def on_line(regressor, x):
    """First output at x (d,) and its derivative by the last input, as the inversion finds them."""
    own, scratch = _of(regressor)
    slope = np.empty(1)
    value = probe().probe_on_line(own, *_pointers(np.array(x), slope), scratch)
    return value, float(slope[0])


def root(regressor, x, target):
    """Whether the first output reaches a target along the last input, and where."""
    own, scratch = _of(regressor)
    found, x = np.empty(1), np.array(x)
    reached = probe().probe_root(
        own, *_pointers(x), ctypes.c_double(target), *_pointers(found), scratch
    )
    return bool(reached), float(found[0])


def curves(kind, x, width):
    """Values and two derivatives (N, 3) of max(x, 0) (kind 0) or the clip (1), rounded."""
    x = np.array(x, dtype=float)
    found = np.empty((len(x), 3))
    probe().probe_curves(kind, len(x), *_pointers(x), ctypes.c_double(width), *_pointers(found))
    return found


def functions(numbers):
    """exp(-v) and tanh(v) of numbers (N,)."""
    numbers = np.array(numbers)
    decayed, bent = np.empty_like(numbers), np.empty_like(numbers)
    probe().probe_functions(len(numbers), *_pointers(numbers, decayed, bent))
    return decayed, bent


def solved(matrix, right):
    """Whether a linear system has a solution, and the solution (n,)."""
    matrix, right = np.array(matrix, dtype=float), np.array(right, dtype=float)
    solution = np.empty(len(right))
    found = probe().probe_solve(len(right), *_pointers(matrix, right, solution))
    return bool(found), solution


def size_of(name):
    """Bytes of a struct of the headers, as the compiler lays it out."""
    return probe().probe_size(name.encode())


def size_in_python(name):
    """Bytes of a struct as `ctypes` lays it out."""
    return ctypes.sizeof(STRUCTS[name])
