"""Loads of many poses by the library, for callers whose poses have leading axes of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray
from surrogates.core.packing import PackedContact


def loads_and_jacobians(contact: PackedContact, poses: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return loads and Jacobians of the wrench of C compartments at poses, in double precision.

    Loads (..., C, 12) in the order of `foundation.base.loads.LOAD_COLUMNS` and d(wrench)/d(pose)
    (..., C, 6, 6) [SI] at poses (..., 6) [rad, m]; of a pose that is not finite all numbers are
    NaN.
    """
    _, loads, jacobians = _found(contact, poses, 1)
    return loads, jacobians


def hessians(contact: PackedContact, poses: ArrayLike) -> FloatArray:
    """Return d2(wrench)/d(pose)2 (..., C, 6, 6, 6) [SI] of C compartments at poses (..., 6)."""
    return _found(contact, poses, 2)[3]


def _found(contact: PackedContact, poses: ArrayLike, order: int) -> list[FloatArray]:
    given = np.asarray(poses)
    rows = np.array(given, dtype=np.float64, order="C").reshape(-1, 6)
    found = contact.loads(rows, order)[1]
    for each in found:
        each[~np.isfinite(rows).all(axis=1)] = np.nan
    return [each.reshape(*given.shape[:-1], *each.shape[1:]) for each in found]
