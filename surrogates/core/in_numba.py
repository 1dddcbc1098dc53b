"""The library in compiled loops of numba: functions that call it by its symbol.

A symbol, unlike the address of a function, lets numba keep the compiled loops on disk.
"""

from __future__ import annotations

import ctypes
from typing import Any

from llvmlite import binding
from numba import njit, types

from foundation.core.library import CORE

_SYMBOL = "fill_knee"
binding.add_symbol(_SYMBOL, ctypes.cast(CORE.fill_knee, ctypes.c_void_p).value)
_place, _whole = types.intp, types.int32
_LIBRARY: Any = types.ExternalFunction(
    _SYMBOL,
    types.intp(_place, _whole, _place, _place, _whole, _whole, *[_place] * 5),
)


@njit(cache=True, nogil=True)
def knee_loads(pose, contact, loads, jacobian, variables, work):
    """Fill the loads of C compartments at a pose (6,) [rad, m]; return if outside the domain.

    `contact` is the address of a `surrogates.core.packing.PackedContact`, and `work` (W,) scratch
    memory of its size. Filled are loads (C, 12), jacobian (C, 6, 6) [SI] and variables (C, 7) [1].
    """
    outside = _LIBRARY(
        contact, loads.shape[0], 1, pose.ctypes.data, 1, 0, loads.ctypes.data,
        jacobian.ctypes.data, 0, variables.ctypes.data, work.ctypes.data,
    )  # fmt: skip
    return outside != 0


@njit(cache=True, nogil=True)
def knee_wrench(pose, contact, loads, variables, work):
    """Fill the first six loads (C, 12) alone; see `knee_loads`. Returns if outside the box."""
    outside = _LIBRARY(
        contact, loads.shape[0], 1, pose.ctypes.data, 0, 1, loads.ctypes.data, 0, 0,
        variables.ctypes.data, work.ctypes.data,
    )  # fmt: skip
    return outside != 0
