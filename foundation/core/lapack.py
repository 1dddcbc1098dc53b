"""Cholesky factors by LAPACK while other threads run: SciPy's own functions hold Python's lock."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cython_lapack

from foundation.base.checks import FloatArray
from foundation.core.library import address


def cholesky(matrix: FloatArray) -> FloatArray:
    """Return the lower factor (n, n) [any unit] of a matrix (n, n), or raise `LinAlgError`."""
    # Only the lower triangle is read; the triangle above the factor is that of the matrix.
    factor, size = np.array(matrix, order="F"), len(matrix)
    if info := _call("dpotrf", b"L", size, factor, size):
        raise LinAlgError(f"leading minor {info} of the matrix is not positive definite")
    return factor


def solve_lower(factor: FloatArray, right: FloatArray, *, transposed: bool = False) -> FloatArray:
    """Return the solution (n,) or (n, k) of L X = B, or L^T X = B, with L (n, n) [any unit]."""
    solution, size = np.array(right, order="F"), len(factor)
    letters = b"L", b"T" if transposed else b"N", b"N"
    if info := _call("dtrtrs", *letters, size, solution[:1].size, factor, size, solution, size):
        raise LinAlgError(f"element {info} of the diagonal of the factor is 0")
    return solution


def solve_factored(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Return the solution (n,) or (n, k) of L L^T X = B with a factor L (n, n) [any unit]."""
    return solve_lower(factor, solve_lower(factor, right), transposed=True)


def inverse_of_factored(factor: FloatArray) -> FloatArray:
    """Return the lower triangle (n, n) of the inverse of L L^T of a factor L (n, n) [any unit]."""
    inverse, size = np.array(factor, order="F"), len(factor)
    _call("dpotri", b"L", size, inverse, size)
    return inverse


def _call(name: str, *arguments: bytes | int | FloatArray) -> int:
    """Call a routine with letters, sizes and arrays; return its `info`."""
    info = ctypes.c_int()
    _routine(name)(*map(_reference, arguments), ctypes.byref(info))
    return info.value


def _reference(argument: bytes | int | FloatArray) -> Any:
    if isinstance(argument, int):
        return ctypes.byref(ctypes.c_int(argument))
    return address(argument) if isinstance(argument, np.ndarray) else argument


@cache
def _routine(name: str) -> Any:
    """Return a routine as a function of pointers, which runs without the interpreter's lock."""
    routines: Any = cython_lapack.__pyx_capi__
    capsule, api = ctypes.py_object(routines[name]), ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    signature = api.PyCapsule_GetName(capsule)
    pointers = [ctypes.c_void_p] * signature.count(b"*")
    pointer = api.PyCapsule_GetPointer(capsule, ctypes.c_char_p(signature))
    return ctypes.CFUNCTYPE(None, *pointers)(pointer)
